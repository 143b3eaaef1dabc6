#include "train/pace.h"

#include "lockstep/comm/gather.h"
#include "lockstep/core/log.h"
#include "lockstep/core/memory.h"
#include "lockstep/train/signals.h"

namespace lockstep::train {
namespace {

constexpr double kSecondsBetween = 0.25;  // of a rank that keeps busy: less than any deadline

// Of one rank.
struct PaceReport {
  double computing, waiting;
  std::int64_t peak_bytes;
  std::uint64_t stop, left, busy;  // as wide as the others: no padding travels
};

}  // namespace

struct Pace::Round {
  Wishes wishes;
  bool busy = false;  // one is: there will be another round
};

Pace::Round Pace::round(comm::Group& group, bool left, bool busy) {
  const PaceReport mine{computing_, waiting_, peak_memory(), stop_requested(), left, busy};
  const auto all = comm::gather(group, std::vector{mine});
  Round round;
  for (const auto& theirs : all) {
    round.wishes.stop |= theirs[0].stop != 0;
    round.wishes.left |= theirs[0].left != 0;
    round.busy |= theirs[0].busy != 0;
  }
  told_ = monotonic_seconds();
  if (round.busy) return round;
  std::vector<double> computing;
  ranks_.resize(all.size());
  for (const auto& theirs : all) {
    const PaceReport& report = theirs[0];
    RankPace& rank = ranks_[computing.size()];
    const Rank number(static_cast<std::int64_t>(computing.size()));
    rank.computing += report.computing;
    rank.waiting += report.waiting;
    rank.samples += report.computing > 0 ? plan_.sample_count(number) : 0;
    rank.peak_bytes = report.peak_bytes;
    computing.push_back(report.computing);
  }
  const auto slow = straggler_.after(computing);
  if (slow && group.rank() == Rank(0)) log::warn(*slow);
  return round;
}

Pace::Wishes Pace::agree(comm::Group& group, bool left) {
  for (;;)
    if (const Round one = round(group, left, /*busy=*/false); !one.busy) return one.wishes;
}

bool Pace::keep_busy(comm::Group& group) {
  if (group.size() == 1 || monotonic_seconds() < told_ + kSecondsBetween) return false;
  return round(group, /*left=*/false, /*busy=*/true).wishes.stop;
}

}  // namespace lockstep::train
