// Options of the learning rate's schedules.
#pragma once

#include <cstdint>

#include "lockstep/optim/learning_rate.h"

namespace lockstep::optim {

// Of those that end: cosine, linear.
struct HorizonOptions {
  std::int64_t horizon = 0;  // the update from which the rate is 0; must be given
};
inline void describe(Fields& f, HorizonOptions& o) {
  f.field("horizon", o.horizon, 1, kMostSteps, Effect::kBits,
          "step from which the rate is 0, such as run.steps; greater than warmup");
}

// Of those that fall by a factor every interval: step, exponential.
struct IntervalOptions {
  std::int64_t interval = 0;  // in updates; must be given
  double factor = 0.1;
};
inline void describe(Fields& f, IntervalOptions& o) {
  f.field("interval", o.interval, 1, kMostSteps, Effect::kBits,
          "steps in which the rate falls by factor, counted from the end of the warm-up");
  f.field("factor", o.factor, 1e-30, 1.0, Effect::kBits,
          "what the rate is multiplied with in an interval");
}

}  // namespace lockstep::optim
