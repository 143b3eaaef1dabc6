// Samplers whose every step is linear in x and the clipped estimate of x0: what they do at each
// timestep. Free of LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/objective/process.h"

namespace lockstep::objective {

// At timestep t: x0 = clip(x0 of x and the prediction, -1, 1), then x = next of x0 and x, and then
// fma(noise, normal, x).
struct SamplerStep {
  std::int64_t t = 0;
  Combination x0;
  Combination next;
  float noise = 0;  // 0: no draw
};

// The explicit table, ancestral or ddim: steps in the order in which they are made, from noise to
// picture. `visited`: timesteps that ddim visits, at most schedule.size(); ancestral visits all.
// Error(kUsage) for another name or number. Bits: arguments.
std::vector<SamplerStep> sampler_steps(const std::string& name, const Schedule& schedule,
                                       const Process& process, std::int64_t visited);

}  // namespace lockstep::objective
