// Options of Heun's method.
#pragma once

#include <cstdint>

#include "lockstep/core/fields.h"
#include "lockstep/objective/noise_schedule.h"

namespace lockstep::objective {

struct HeunOptions {
  std::int64_t steps = 18;  // of Karras et al. 2022 for pictures of 32 x 32
};
inline void describe(Fields& f, HeunOptions& o) {
  f.field("sampler_steps", o.steps, 1, kMostTimesteps, Effect::kBits,
          "steps of heun; each but the last asks the network twice");
}

}  // namespace lockstep::objective
