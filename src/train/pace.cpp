#include "train/pace.h"

#include "lockstep/comm/gather.h"
#include "lockstep/core/log.h"

namespace lockstep::train {
namespace {

// Of one rank.
struct PaceReport {
  double seconds;
  std::uint64_t stop;
};

}  // namespace

bool Pace::anyone_stops(comm::Group& group, bool mine) {
  bool stop = false;
  std::vector<double> seconds;
  for (const auto& theirs : comm::gather(group, std::vector{PaceReport{seconds_, mine}})) {
    seconds.push_back(theirs[0].seconds);
    stop |= theirs[0].stop != 0;
  }
  const auto slow = straggler_.after(seconds);
  if (slow && group.rank() == Rank(0)) log::warn(*slow);
  return stop;
}

}  // namespace lockstep::train
