#include "lockstep/optim/learning_rate.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::optim {
namespace {

constexpr double kPi = 3.141592653589793;

}  // namespace

void check_schedule(const Options& o) {
  if (o.schedule != "constant" && o.schedule != "cosine") {
    throw Error(Code::kUsage, "schedule: there is no schedule '" + o.schedule + "'",
                "use constant or cosine");
  }
  if (o.schedule == "cosine" && o.horizon <= o.warmup) {
    throw Error(Code::kUsage,
                "horizon: " + std::to_string(o.horizon) + " is not after the warm-up of " +
                    counted(o.warmup, "step"),
                "the cosine schedule needs the step at which it ends, e.g. the number of steps");
  }
}

double learning_rate(const Options& o, std::int64_t t) {
  check_schedule(o);
  const auto step = static_cast<double>(t);
  if (t < o.warmup) return o.lr * (step / static_cast<double>(o.warmup));
  if (o.schedule == "constant") return o.lr;
  const double progress =
      std::min(1.0, static_cast<double>(t - o.warmup) / static_cast<double>(o.horizon - o.warmup));
  return o.lr * (0.5 * (1.0 + numerics::host::cos(kPi * progress)));
}

}  // namespace lockstep::optim
