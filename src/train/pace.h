// What ranks tell each other before every step: whether to stop, how long their last step took, and
// the memory of their processes.
#pragma once

#include <utility>
#include <vector>

#include "lockstep/comm/queue.h"
#include "lockstep/core/clock.h"
#include "train/straggler.h"

namespace lockstep::train {

// Of one rank, over some steps.
struct RankPace {
  double computing = 0, waiting = 0;  // seconds outside of verbs, and in them
  std::int64_t samples = 0;
  std::int64_t peak_bytes = 0;  // the most memory that its process has had
};

class Pace {
 public:
  // queue: this rank's; null if it is alone.
  Pace(const lane::Plan& plan, const comm::Queue* queue)
      : plan_(plan), queue_(queue), straggler_(plan) {}

  // Whether any rank wants to stop: all get the same answer. Rank 0 logs who is slow. Collective:
  // yes.
  bool anyone_stops(comm::Group& group, bool mine);

  template <class Step>
  auto timed(Step&& step) {
    const double began = monotonic_seconds(), waited = in_verbs();
    auto result = step();
    waiting_ = in_verbs() - waited;
    computing_ = monotonic_seconds() - began - waiting_;
    return result;
  }

  // By rank, of the steps that the ranks told each other of since the last call; empty of none.
  std::vector<RankPace> take() {
    if (ranks_.empty() || ranks_.front().samples == 0) return {};
    return std::exchange(ranks_, {});
  }

 private:
  double in_verbs() const { return queue_ ? queue_->seconds() : 0.0; }

  const lane::Plan plan_;
  const comm::Queue* queue_;
  Straggler straggler_;
  double computing_ = 0, waiting_ = 0;  // seconds of the last step; 0: there was none
  std::vector<RankPace> ranks_;
};

}  // namespace lockstep::train
