#include "lockstep/optim/cosine.h"

#include "lockstep/numerics/host_math.h"
#include "optim/horizon.h"
#include "optim/kinds.h"

namespace lockstep::optim {
namespace {

constexpr double kPi = 3.141592653589793;

}  // namespace

void check_cosine(const LearningRate& o) {
  check_horizon(o, cosine_end(o));
}

double cosine_factor(const LearningRate& o, std::int64_t t) {
  return 0.5 * (1.0 + numerics::host::cos(kPi * progress(o, cosine_end(o), t)));
}

std::int64_t cosine_end(const LearningRate& o) {
  return o.schedule.as<CosineOptions>().horizon;
}

}  // namespace lockstep::optim
