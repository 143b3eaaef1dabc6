// Samplers whose every step is linear in x and the clipped estimate of x0: what they do at each
// timestep. Free of LibTorch.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/objective/process.h"

namespace lockstep::objective {

// At timestep t: x0 = clip(x0 of x and the prediction, -1, 1), then x = next of x0 and x, and then
// fma(noise, normal, x).
struct SamplerStep {
  std::int64_t t = 0;
  LinearCombination x0;
  LinearCombination next;
  float noise = 0;  // 0: no draw
};

// Steps in the order in which they are made, from noise to picture, of a process with timesteps.
// Bits: arguments.
std::vector<SamplerStep> ancestral_steps(const Process& process);  // visits all
// `visited`: how many timesteps; Error(kUsage) if the schedule has not so many.
std::vector<SamplerStep> ddim_steps(const Process& process, std::int64_t visited);

}  // namespace lockstep::objective
