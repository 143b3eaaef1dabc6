// The tables of samplers: one row a kind.
#include "lockstep/objective/samplers.h"

#include "lockstep/objective/ddim.h"
#include "lockstep/objective/euler.h"
#include "lockstep/objective/heun.h"
#include "objective/kinds.h"

namespace lockstep::objective {

std::span<const SamplerKind> samplers_by_timesteps() {
  static constexpr SamplerKind kRows[] = {
      {"ddim", "without noise, in few steps", &OptionsOf<DdimOptions>::make, &make_linear,
       &plan_of_ddim, &steps_of<DdimOptions>},
      {"ancestral", "with noise, at every timestep", &OptionsOf<NoOptions>::make, &make_linear,
       &plan_of_ancestral, nullptr},
  };
  return kRows;
}

std::span<const SamplerKind> samplers_by_time() {
  static constexpr SamplerKind kRows[] = {
      {"euler", "equal steps along the velocity", &OptionsOf<EulerOptions>::make, &make_euler,
       nullptr, &steps_of<EulerOptions>},
      {"heun", "the same steps along the mean of the velocities at both ends",
       &OptionsOf<HeunOptions>::make, &make_heun, nullptr, &steps_of<HeunOptions>},
  };
  return kRows;
}

std::span<const SamplerKind> samplers_by_noise_level() {
  static constexpr SamplerKind kRows[] = {
      {"heun", "along the mean of the slopes at both ends of each step",
       &OptionsOf<HeunOptions>::make, &make_heun, nullptr, &steps_of<HeunOptions>},
      {"euler", "along the slope at each step's beginning", &OptionsOf<EulerOptions>::make,
       &make_euler, nullptr, &steps_of<EulerOptions>},
  };
  return kRows;
}

}  // namespace lockstep::objective
