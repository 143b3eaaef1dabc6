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
  double computing = 0, waiting = 0;  // seconds outside of operations, and in them
  std::int64_t samples = 0;
  std::int64_t peak_bytes = 0;  // the most memory that its process has had
};

class Pace {
 public:
  // queue: this rank's; null if it is alone.
  Pace(const lane::Plan& plan, const comm::Queue* queue)
      : plan_(plan), queue_(queue), straggler_(plan) {}

  // What ranks agree on, the same on all.
  struct Wishes {
    bool stop = false;  // a signal asked one of them for an end
    bool left = false;  // one leaves something undone
  };
  // left: this rank's. Waits for a rank that keeps busy. Rank 0 logs who is slow. Collective: yes.
  Wishes agree(comm::Group& group, bool left);
  // For a rank that does alone what takes long, between its parts, while the others wait in agree:
  // they do not take it for hanging. Whether a rank wants to stop. Collective: yes, now and then.
  bool keep_busy(comm::Group& group);

  template <class Step>
  auto timed(Step&& step) {
    const double began = monotonic_seconds(), waited = in_operations();
    auto result = step();
    waiting_ = in_operations() - waited;
    computing_ = monotonic_seconds() - began - waiting_;
    return result;
  }

  // By rank, of the steps that the ranks told each other of since the last call; empty of none.
  std::vector<RankPace> take() {
    if (ranks_.empty() || ranks_.front().samples == 0) return {};
    return std::exchange(ranks_, {});
  }

 private:
  struct Round;
  Round round(comm::Group& group, bool left, bool busy);
  double in_operations() const { return queue_ ? queue_->seconds() : 0.0; }

  const lane::Plan plan_;
  const comm::Queue* queue_;
  Straggler straggler_;
  double computing_ = 0, waiting_ = 0;  // seconds of the last step; 0: there was none
  double told_ = 0;                     // when the last round ended
  std::vector<RankPace> ranks_;
};

}  // namespace lockstep::train
