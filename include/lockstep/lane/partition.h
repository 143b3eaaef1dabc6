// Who holds what: which lanes, and which tiles of gradients, parameters and optimiser slots, are
// whose. No other file decides this.
//
// It follows from the number of ranks, the number of lanes and the tensors' sizes alone. So it is
// the same on every rank, and nobody has to ask. Lanes are counted from 0, sizes in floats; a tile
// is numerics::kTileFloats of one tensor, the last one what is left. Collective: nothing here.
// Bits: none; whoever holds something computes the same of it.
#pragma once

#include <vector>

#include "lockstep/core/division.h"
#include "lockstep/core/ids.h"
#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::lane {

// Contiguous lanes of one rank: all of them, or those that are computed at once.
struct Portion {
  Lane first;
  std::int64_t count = 0;
  bool operator==(const Portion&) const = default;
};

constexpr std::int64_t tiles_in(std::int64_t floats) {
  return (floats + numerics::kTileFloats - 1) / numerics::kTileFloats;
}

class Partition {
 public:
  // Throws Error(kUsage) unless 1 <= world <= lanes: every rank has a lane.
  Partition(std::int64_t lanes, int world);

  int world() const { return world_; }

  // The rank's lanes: blocks in order of ranks, the larger ones first; they differ by at most one.
  Portion lanes_of(Rank rank) const;
  Rank owner(Lane lane) const;

  // Tensors of these sizes, divided together: each tile falls to one rank. Of each tensor a rank
  // has one slice, whole tiles or nothing; of all of them, at most one tile more than another rank.
  std::vector<Division> divide(const std::vector<std::int64_t>& sizes) const;

 private:
  std::int64_t lanes_;
  int world_;
};

}  // namespace lockstep::lane
