#include "train/pace.h"

#include "lockstep/comm/gather.h"
#include "lockstep/core/log.h"
#include "lockstep/core/memory.h"

namespace lockstep::train {
namespace {

// Of one rank.
struct PaceReport {
  double computing, waiting;
  std::int64_t peak_bytes;
  std::uint64_t stop;
};

}  // namespace

bool Pace::anyone_stops(comm::Group& group, bool mine) {
  bool stop = false;
  std::vector<double> computing;
  const PaceReport of_mine{computing_, waiting_, peak_memory(), mine};
  ranks_.resize(static_cast<std::size_t>(group.size()));
  for (const auto& theirs : comm::gather(group, std::vector{of_mine})) {
    const PaceReport& report = theirs[0];
    RankPace& rank = ranks_[computing.size()];
    const Rank number(static_cast<std::int64_t>(computing.size()));
    rank.computing += report.computing;
    rank.waiting += report.waiting;
    rank.samples += report.computing > 0 ? plan_.sample_count(number) : 0;
    rank.peak_bytes = report.peak_bytes;
    computing.push_back(report.computing);
    stop |= report.stop != 0;
  }
  const auto slow = straggler_.after(computing);
  if (slow && group.rank() == Rank(0)) log::warn(*slow);
  return stop;
}

}  // namespace lockstep::train
