#include "lockstep/lane/plan.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/reduce.h"

namespace lockstep::lane {

Plan::Plan(const Options& options, int world) : options_(options), world_(world) {
  if (world < 1 || world > options.lanes) {
    throw Error(Code::kUsage,
                counted(world, "rank") + " cannot share " + counted(options.lanes, "lane"),
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

Plan Plan::isolating(std::vector<Lane> lanes) const {
  Plan plan = *this;
  std::sort(lanes.begin(), lanes.end());
  plan.isolated_ = std::move(lanes);
  return plan;
}

Rank Plan::owner(Lane lane) const {
  Rank rank(0);
  while (first_lane(rank + 1) <= lane) rank = rank + 1;
  return rank;
}

std::vector<Portion> Plan::portions(Rank rank, std::int64_t at_once) const {
  const Portion all = block(rank);
  if (at_once == 0) return {all};
  std::vector<Portion> portions;
  for (std::int64_t done = 0; done < all.count; done += at_once)
    portions.push_back({all.first + done, std::min(at_once, all.count - done)});
  return portions;
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

namespace {

constexpr std::int64_t kTile = numerics::kTileFloats;

std::int64_t tiles_in(std::int64_t floats) {
  return (floats + kTile - 1) / kTile;
}

}  // namespace

Slice slice_of(std::int64_t turn, std::int64_t size, Rank rank, int world) {
  const std::int64_t each = tiles_in(size) / world, larger = tiles_in(size) % world;
  // Parts in order, the larger ones first; part 0 falls to rank turn % world.
  const std::int64_t part = (rank.value + world - turn % world) % world;
  const auto begin = [&](std::int64_t p) { return p * each + std::min(p, larger); };
  return {std::min(size, begin(part) * kTile), std::min(size, begin(part + 1) * kTile)};
}

std::int64_t Turns::next(std::int64_t size) {
  const std::int64_t turn = tiles_;
  tiles_ += tiles_in(size);
  return turn;
}

}  // namespace lockstep::lane
