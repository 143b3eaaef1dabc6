// Options of DDIM (Song et al. 2021), eta = 0.
#pragma once

#include <cstdint>

#include "lockstep/core/fields.h"
#include "lockstep/objective/noise_schedule.h"

namespace lockstep::objective {

struct DdimOptions {
  std::int64_t steps = 50;  // timesteps visited
};
inline void describe(Fields& f, DdimOptions& o) {
  f.field("sampler_steps", o.steps, 1, kMostTimesteps, Effect::kBits,
          "timesteps visited by ddim, at most timesteps");
}

}  // namespace lockstep::objective
