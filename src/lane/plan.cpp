#include "lockstep/lane/plan.h"

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep::lane {

Plan::Plan(const Options& options, int world) : options_(options), world_(world) {
  if (world < 1 || world > options.lanes) {
    throw Error(
        Code::kUsage,
        std::to_string(world) + " ranks cannot share " + std::to_string(options.lanes) + " lanes",
        "use 1 to batch.lanes ranks");
  }
}

Lane Plan::first_lane(Rank rank) const {
  const std::int64_t each = lanes() / world_, larger = lanes() % world_;
  return Lane(rank.value * each + std::min(rank.value, larger));
}

std::int64_t Plan::lane_count(Rank rank) const {
  return first_lane(rank + 1) - first_lane(rank);
}

std::vector<numerics::Subtree> Plan::subtrees(Rank rank) const {
  return numerics::maximal_subtrees(lanes(), first_lane(rank).value, lane_count(rank));
}

numerics::LaneBlocks Plan::blocks(Rank rank) const {
  numerics::LaneBlocks blocks{.samples_per_lane = samples_per_lane(), .lanes = {}};
  for (const numerics::Subtree& subtree : subtrees(rank)) blocks.lanes.push_back(subtree.count);
  return blocks;
}

}  // namespace lockstep::lane
