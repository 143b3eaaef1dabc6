// What ranks tell each other before every step: whether to stop, and how long their last step took.
#pragma once

#include "lockstep/comm/queue.h"
#include "lockstep/core/clock.h"
#include "train/straggler.h"

namespace lockstep::train {

class Pace {
 public:
  // queue: this rank's; null if it is alone.
  Pace(const lane::Plan& plan, const comm::Queue* queue) : queue_(queue), straggler_(plan) {}

  // Whether any rank wants to stop: all get the same answer. Rank 0 logs who is slow. Collective:
  // yes.
  bool anyone_stops(comm::Group& group, bool mine);

  template <class Step>
  auto timed(Step&& step) {
    const double began = computed();
    auto result = step();
    seconds_ = computed() - began;
    return result;
  }

 private:
  double computed() const { return monotonic_seconds() - (queue_ ? queue_->seconds() : 0.0); }

  const comm::Queue* queue_;
  Straggler straggler_;
  double seconds_ = 0;  // of the last step, outside of verbs
};

}  // namespace lockstep::train
