// DDIM with eta = 0 (Song et al. 2021): the noise in x is taken as it is (with x0 clipped, what
// remains of x) and scaled to the variance of the next visited timestep. No randomness.
#include "lockstep/objective/ddim.h"

#include "lockstep/numerics/host_math.h"
#include "lockstep/objective/sampler_steps.h"
#include "objective/kinds.h"

namespace lockstep::objective {

// Visits floor((i+1) * T / visited) - 1 for i = visited-1 … 0: evenly spread, the last timestep
// among them.
std::vector<SamplerStep> ddim_steps(const Process& process, std::int64_t visited) {
  namespace host = numerics::host;
  const NoiseSchedule& schedule = process.schedule();
  const std::int64_t timesteps = schedule.size();
  if (visited < 1 || visited > timesteps) {
    throw Error(Code::kUsage,
                "sampler_steps: " + std::to_string(visited) + " of " + std::to_string(timesteps) +
                    " timesteps",
                "use 1 to timesteps");
  }
  std::vector<SamplerStep> steps;
  for (std::int64_t i = visited; i-- > 0;) {
    const std::int64_t t = (i + 1) * timesteps / visited - 1;
    const double now = schedule.alpha_bar[static_cast<std::size_t>(t)];
    const double next = schedule.alpha_bar_before(i * timesteps / visited);
    // x = sqrt(now) x0 + sqrt(1-now) e  ->  sqrt(next) x0 + sqrt(1-next) e, with e eliminated.
    const double ratio = host::sqrt((1.0 - next) / (1.0 - now));
    SamplerStep step;
    step.t = t;
    step.x0 = process.x0(static_cast<Time>(t));
    step.next = {static_cast<float>(host::sqrt(next) - ratio * host::sqrt(now)),
                 static_cast<float>(ratio)};
    steps.push_back(step);
  }
  return steps;
}

std::vector<SamplerStep> plan_of_ddim(const Kind<SamplerKind>& chosen, const Process& process) {
  return ddim_steps(process, chosen.as<DdimOptions>().steps);
}

}  // namespace lockstep::objective
