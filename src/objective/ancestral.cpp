// Ancestral sampling (Ho et al. 2020): the mean of the posterior q(x_{t-1} | x_t, x0) plus noise of
// its variance, at every timestep.
#include "lockstep/numerics/host_math.h"
#include "lockstep/objective/sampler_steps.h"
#include "objective/kinds.h"

namespace lockstep::objective {

std::vector<SamplerStep> ancestral_steps(const Process& process) {
  namespace host = numerics::host;
  const NoiseSchedule& schedule = process.schedule();
  std::vector<SamplerStep> steps;
  for (std::int64_t t = schedule.size(); t-- > 0;) {
    const auto i = static_cast<std::size_t>(t);
    const double beta = schedule.beta[i], before = schedule.alpha_bar_before(t);
    const double variance = 1.0 - schedule.alpha_bar[i];
    SamplerStep step;
    step.t = t;
    step.x0 = process.x0(static_cast<Time>(t));
    step.next = {static_cast<float>(beta * host::sqrt(before) / variance),
                 static_cast<float>(host::sqrt(1.0 - beta) * (1.0 - before) / variance)};
    step.noise = static_cast<float>(host::sqrt(beta * (1.0 - before) / variance));
    steps.push_back(step);
  }
  return steps;
}

std::vector<SamplerStep> plan_of_ancestral(const Kind<SamplerKind>&, const Process& process) {
  return ancestral_steps(process);
}

}  // namespace lockstep::objective
