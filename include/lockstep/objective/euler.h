// Options of Euler's method.
#pragma once

#include <cstdint>

#include "lockstep/core/fields.h"
#include "lockstep/objective/noise_schedule.h"

namespace lockstep::objective {

struct EulerOptions {
  std::int64_t steps = 50;
};
inline void describe(Fields& f, EulerOptions& o) {
  f.field("sampler_steps", o.steps, 1, kMostTimesteps, Effect::kBits, "steps of euler");
}

}  // namespace lockstep::objective
