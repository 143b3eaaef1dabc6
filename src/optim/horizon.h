// What schedules that end share.
#pragma once

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/optim/learning_rate.h"

namespace lockstep::optim {

// Error(kUsage) if the schedule ends with the warm-up or before.
inline void check_horizon(const LearningRate& o, std::int64_t horizon) {
  if (horizon > o.warmup) return;
  throw Error(Code::kUsage,
              "horizon: " + std::to_string(horizon) + " is not after the warm-up of " +
                  counted(o.warmup, "step"),
              "the " + o.schedule.word() +
                  " schedule needs the step at which it ends, e.g. the number of steps");
}

// From 0, where the warm-up ends, to 1 at the horizon and after it.
inline double progress(const LearningRate& o, std::int64_t horizon, std::int64_t t) {
  return std::min(1.0, static_cast<double>(t - o.warmup) / static_cast<double>(horizon - o.warmup));
}

}  // namespace lockstep::optim
