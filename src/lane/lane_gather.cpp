#include "lockstep/lane/lane_gather.h"

#include "lockstep/core/error.h"
#include "lockstep/lane/slices.h"

namespace lockstep::lane {

LaneGather::LaneGather(const Plan& plan, comm::Group& group, const Portion& portion)
    : plan_(plan), group_(&group), portion_(portion) {}

LaneGather::LaneGather(std::shared_ptr<const LaneGather> original)
    : plan_(original->plan_), original_(std::move(original)) {}

bool LaneGather::alone() const {
  return !is_shadow() && group_->size() == 1 && plan_.isolated().empty() &&
         portion_ == plan_.partition().lanes_of(group_->rank());
}

std::vector<float> LaneGather::operator()(const std::string& module, std::span<const float> mine,
                                          std::int64_t width) {
  if (is_shadow()) {
    const std::vector<Gathered>& known = original_->gathered_;
    LOCKSTEP_ASSERT(gathered_.size() < known.size());
    const Gathered& same = known[gathered_.size()];
    LOCKSTEP_ASSERT(same.width == width && mine.size() == static_cast<std::size_t>(width));
    gathered_.push_back({same.name, width, {mine.begin(), mine.end()}});
    return same.lanes;
  }
  const Partition& partition = plan_.partition();
  LOCKSTEP_ASSERT(portion_ == partition.lanes_of(group_->rank()),
                  module + " mixes samples and sees a portion of the lanes");
  std::vector<std::size_t> counts;
  for (int r = 0; r < partition.world(); ++r)
    counts.push_back(static_cast<std::size_t>(partition.lanes_of(Rank(r)).count * width));
  std::vector<float> all;
  for (const std::vector<float>& theirs :
       gather_sealed(*group_, "batch statistics of " + module, mine, counts))
    all.insert(all.end(), theirs.begin(), theirs.end());
  if (!plan_.isolated().empty()) gathered_.push_back({module, width, all});
  return all;
}

}  // namespace lockstep::lane
