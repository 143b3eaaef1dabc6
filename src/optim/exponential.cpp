#include "lockstep/optim/exponential.h"

#include "lockstep/numerics/host_math.h"
#include "optim/kinds.h"

namespace lockstep::optim {

double exponential_factor(const LearningRate& o, std::int64_t t) {
  const auto& own = o.schedule.as<ExponentialOptions>();
  return numerics::host::pow(own.factor,
                             static_cast<double>(t - o.warmup) / static_cast<double>(own.interval));
}

}  // namespace lockstep::optim
