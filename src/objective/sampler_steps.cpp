#include "lockstep/objective/sampler_steps.h"

#include "lockstep/core/error.h"
#include "objective/samplers.h"

namespace lockstep::objective {

std::vector<SamplerStep> sampler_steps(const std::string& name, const Schedule& schedule,
                                       const Process& process, std::int64_t visited) {
  std::vector<SamplerStep> steps;
  if (name == "ancestral") {
    steps = ancestral_steps(schedule);
  } else if (name == "ddim") {
    if (visited < 1 || visited > schedule.size()) {
      throw Error(Code::kUsage,
                  "sampler_steps: " + std::to_string(visited) + " of " +
                      std::to_string(schedule.size()) + " timesteps",
                  "use 1 to timesteps");
    }
    steps = ddim_steps(schedule, visited);
  } else {
    throw Error(Code::kUsage, "sampler: there is no sampler '" + name + "'",
                "use ancestral or ddim");
  }
  for (SamplerStep& step : steps) step.x0 = process.x0(static_cast<Time>(step.t));
  return steps;
}

}  // namespace lockstep::objective
