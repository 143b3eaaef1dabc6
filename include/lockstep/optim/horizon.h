// Options of schedules that end.
#pragma once

#include <cstdint>

#include "lockstep/optim/learning_rate.h"

namespace lockstep::optim {

struct HorizonOptions {
  std::int64_t horizon = 0;  // the update from which the rate is 0; must be given
};
inline void describe(Fields& f, HorizonOptions& o) {
  f.field("horizon", o.horizon, 1, kMostSteps, Effect::kBits,
          "step from which the rate is 0, such as run.steps; greater than warmup");
}

}  // namespace lockstep::optim
