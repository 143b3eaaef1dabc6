#include "lockstep/optim/step.h"

#include "lockstep/numerics/host_math.h"
#include "optim/kinds.h"

namespace lockstep::optim {

double step_factor(const LearningRate& o, std::int64_t t) {
  const auto& own = o.schedule.as<StepOptions>();
  const std::int64_t intervals = (t - o.warmup) / own.interval;  // whole ones
  return numerics::host::pow(own.factor, static_cast<double>(intervals));
}

}  // namespace lockstep::optim
