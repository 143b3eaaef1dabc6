#include "lockstep/lane/partition.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"

namespace lockstep::lane {
namespace {

// Where part `p` begins if `count` things are cut into `parts`, the larger parts first.
std::int64_t begin_of(std::int64_t p, std::int64_t count, std::int64_t parts) {
  return p * (count / parts) + std::min(p, count % parts);
}

}  // namespace

Partition::Partition(std::int64_t lanes, int world) : lanes_(lanes), world_(world) {
  if (world < 1 || world > lanes) {
    throw Error(Code::kUsage, counted(world, "rank") + " cannot share " + counted(lanes, "lane"),
                "use 1 to batch.lanes ranks");
  }
}

Portion Partition::lanes_of(Rank rank) const {
  const std::int64_t first = begin_of(rank.value, lanes_, world_);
  return {Lane(first), begin_of(rank.value + 1, lanes_, world_) - first};
}

Rank Partition::owner(Lane lane) const {
  Rank rank(0);
  while (lanes_of(rank + 1).first <= lane) ++rank;
  return rank;
}

std::vector<Division> Partition::divide(const std::vector<std::int64_t>& sizes) const {
  std::vector<Division> divisions;
  std::int64_t turn = 0;  // the rank that gets the next first part
  for (const std::int64_t size : sizes) {
    const std::int64_t tiles = tiles_in(size);
    const auto begin = [&](std::int64_t part) {
      return std::min(size, begin_of(part, tiles, world_) * numerics::kTileFloats);
    };
    std::vector<Slice> by_rank(static_cast<std::size_t>(world_));
    for (std::int64_t part = 0; part < world_; ++part)
      by_rank[static_cast<std::size_t>((turn + part) % world_)] = {begin(part), begin(part + 1)};
    divisions.emplace_back(std::move(by_rank));
    turn = (turn + tiles) % world_;  // after the larger parts
  }
  return divisions;
}

}  // namespace lockstep::lane
