#include "lockstep/comm/own_time.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "lockstep/comm/gather.h"
#include "lockstep/comm/queue.h"
#include "lockstep/core/error.h"

namespace lockstep::comm {
namespace {

constexpr std::chrono::milliseconds kBetween(250);  // less than any deadline

// What a rank tells the others while its part goes on beside.
class Rounds {
 public:
  void end(bool done) {
    {
      const std::scoped_lock lock(mutex_);
      part_ = done ? Part::kDone : Part::kFailed;
    }
    ended_.notify_all();
  }

  void tell(Group& group) {
    for (;;) {
      const Part part = after_a_while();
      if (part == Part::kFailed) return;  // the group is aborted
      bool all_done = true;
      for (const auto& theirs : gather(group, std::vector{part}))
        all_done &= theirs[0] == Part::kDone;
      if (all_done) return;
    }
  }

 private:
  enum class Part : std::uint64_t { kUnderWay, kDone, kFailed };

  Part after_a_while() {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, kBetween, [&] { return part_ != Part::kUnderWay; });
    return part_;
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  Part part_ = Part::kUnderWay;
};

}  // namespace

void in_own_time(Group& group, const std::function<void()>& part) {
  if (group.size() == 1) return part();
  // Others carry out a job before they return.
  LOCKSTEP_ASSERT(dynamic_cast<Queue*>(&group) != nullptr);
  const auto rounds = std::make_shared<Rounds>();
  std::future<void> told = group.start([rounds](Group& all) { rounds->tell(all); });
  try {
    part();
  } catch (...) {
    rounds->end(false);
    throw;
  }
  rounds->end(true);
  told.get();
}

}  // namespace lockstep::comm
