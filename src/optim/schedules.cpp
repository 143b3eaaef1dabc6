// The table of the learning rate's schedules: one row a kind.
#include "lockstep/optim/cosine.h"
#include "lockstep/optim/exponential.h"
#include "lockstep/optim/linear.h"
#include "lockstep/optim/step.h"
#include "optim/kinds.h"

namespace lockstep::optim {
namespace {

void nothing(const LearningRate&) {}
double whole(const LearningRate&, std::int64_t) {
  return 1.0;
}
std::int64_t never(const LearningRate&) {
  return 0;
}

}  // namespace

std::span<const ScheduleKind> schedules() {
  static constexpr ScheduleKind kRows[] = {
      {"constant", "lr", &OptionsOf<NoOptions>::make, &nothing, &whole, &never},
      {"cosine", "half a cosine from lr to 0 at horizon", &OptionsOf<CosineOptions>::make,
       &check_cosine, &cosine_factor, &cosine_end},
      {"linear", "a line from lr to 0 at horizon", &OptionsOf<LinearOptions>::make, &check_linear,
       &linear_factor, &linear_end},
      {"step", "times factor after every interval", &OptionsOf<StepOptions>::make, &nothing,
       &step_factor, &never},
      {"exponential", "times factor in every interval, a little each step",
       &OptionsOf<ExponentialOptions>::make, &nothing, &exponential_factor, &never},
  };
  return kRows;
}

}  // namespace lockstep::optim
