#include "lockstep/optim/linear.h"

#include "optim/horizon.h"
#include "optim/kinds.h"

namespace lockstep::optim {

void check_linear(const LearningRate& o) {
  check_horizon(o, linear_end(o));
}

double linear_factor(const LearningRate& o, std::int64_t t) {
  return 1.0 - progress(o, linear_end(o), t);
}

std::int64_t linear_end(const LearningRate& o) {
  return o.schedule.as<LinearOptions>().horizon;
}

}  // namespace lockstep::optim
