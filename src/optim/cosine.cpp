#include "lockstep/optim/cosine.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"
#include "optim/kinds.h"

namespace lockstep::optim {
namespace {

constexpr double kPi = 3.141592653589793;

}  // namespace

void check_cosine(const LearningRate& o) {
  if (cosine_end(o) > o.warmup) return;
  throw Error(Code::kUsage,
              "horizon: " + std::to_string(cosine_end(o)) + " is not after the warm-up of " +
                  counted(o.warmup, "step"),
              "the cosine schedule needs the step at which it ends, e.g. the number of steps");
}

double cosine_factor(const LearningRate& o, std::int64_t t) {
  const double progress = std::min(
      1.0, static_cast<double>(t - o.warmup) / static_cast<double>(cosine_end(o) - o.warmup));
  return 0.5 * (1.0 + numerics::host::cos(kPi * progress));
}

std::int64_t cosine_end(const LearningRate& o) {
  return o.schedule.as<CosineOptions>().horizon;
}

}  // namespace lockstep::optim
