#include "lockstep/optim/learning_rate.h"

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::optim {

double peak(const LearningRate& o, std::int64_t batch) {
  if (o.lr_scaling == "none") return o.lr;
  if (o.base_batch < 1)
    throw Error(Code::kUsage, "base_batch: " + std::to_string(o.base_batch) + " is less than 1",
                "give the batch that lr was chosen for, such as 256");
  const double ratio = static_cast<double>(batch) / static_cast<double>(o.base_batch);
  if (o.lr_scaling == "linear") return o.lr * ratio;
  if (o.lr_scaling == "sqrt") return o.lr * numerics::host::sqrt(ratio);
  throw Error(Code::kUsage, "lr_scaling: there is no '" + o.lr_scaling + "'",
              "use none, linear or sqrt");
}

void check_schedule(const LearningRate& o) {
  const ScheduleKind& kind = o.schedule.row("schedule");
  if (kind.end == nullptr || kind.end(o) > o.warmup) return;
  throw Error(Code::kUsage,
              "horizon: " + std::to_string(kind.end(o)) + " is not after the warm-up of " +
                  counted(o.warmup, "step"),
              "the " + o.schedule.word() +
                  " schedule needs the step at which it ends, e.g. the number of steps");
}

double learning_rate(const LearningRate& o, std::int64_t t) {
  check_schedule(o);
  if (t < o.warmup) return o.lr * (static_cast<double>(t) / static_cast<double>(o.warmup));
  return o.lr * o.schedule.row("schedule").factor(o, t);
}

}  // namespace lockstep::optim
