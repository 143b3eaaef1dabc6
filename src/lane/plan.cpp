#include "lockstep/lane/plan.h"

#include <algorithm>

namespace lockstep::lane {

Plan::Plan(const Options& options, int world)
    : options_(options), partition_(options.lanes, world) {}

Plan Plan::isolating(std::vector<Lane> lanes) const {
  Plan plan = *this;
  std::sort(lanes.begin(), lanes.end());
  plan.isolated_ = std::move(lanes);
  return plan;
}

Plan Plan::as_part() const {
  Plan plan = *this;
  plan.is_part_ = true;
  return plan;
}

std::vector<Portion> Plan::portions(Rank rank, std::int64_t at_once) const {
  return streams(rank, at_once, 1).front();
}

std::vector<std::vector<Portion>> Plan::streams(Rank rank, std::int64_t at_once, int count) const {
  const Portion all = partition_.lanes_of(rank);
  const std::int64_t most = at_once == 0 ? all.count : std::min(at_once, all.count);
  const auto of = static_cast<int>(std::min<std::int64_t>(count, most));
  const Partition blocks(all.count, of), there(most, of);
  std::vector<std::vector<Portion>> streams(static_cast<std::size_t>(of));
  for (int i = 0; i < of; ++i) {
    const Portion block = blocks.lanes_of(Rank(i));
    const std::int64_t some = there.lanes_of(Rank(i)).count;
    for (std::int64_t done = 0; done < block.count; done += some)
      streams[static_cast<std::size_t>(i)].push_back(
          {all.first + block.first.value + done, std::min(some, block.count - done)});
  }
  return streams;
}

std::vector<numerics::Subtree> Plan::subtrees(const Portion& portion) const {
  std::vector<numerics::Subtree> all;
  const Lane end = portion.first + portion.count;
  std::int64_t first = portion.first.value;
  const auto up_to = [&](std::int64_t last) {
    if (first >= last) return;
    const auto some = numerics::maximal_subtrees(lanes(), first, last - first);
    all.insert(all.end(), some.begin(), some.end());
  };
  for (const Lane lane : isolated_) {
    if (lane < portion.first || !(lane < end)) continue;
    up_to(lane.value);
    all.push_back({lane.value, 1});
    first = lane.value + 1;
  }
  up_to(end.value);
  return all;
}

numerics::LaneBlocks Plan::blocks(const Portion& portion) const {
  numerics::LaneBlocks blocks{.samples_per_lane = samples_per_lane(), .lanes = {}};
  for (const numerics::Subtree& subtree : subtrees(portion)) blocks.lanes.push_back(subtree.count);
  return blocks;
}

}  // namespace lockstep::lane
