// Options of schedules that fall by a factor every interval.
#pragma once

#include <cstdint>

#include "lockstep/optim/learning_rate.h"

namespace lockstep::optim {

struct IntervalOptions {
  std::int64_t interval = 0;  // updates in which the rate falls by the factor; must be given
  double factor = 0.1;
};
inline void describe(Fields& f, IntervalOptions& o) {
  f.field("interval", o.interval, 1, kMostSteps, Effect::kBits,
          "steps in which the rate falls by factor, counted from the end of the warm-up");
  f.field("factor", o.factor, 1e-30, 1.0, Effect::kBits,
          "what the rate is multiplied with in an interval");
}

}  // namespace lockstep::optim
