// Which rank holds which lanes. The recipe fixes lanes and samples_per_lane; the world size only
// cuts.
#pragma once

#include <vector>

#include "lockstep/core/fields.h"
#include "lockstep/core/ids.h"
#include "lockstep/numerics/tree.h"

namespace lockstep::lane {

struct Options {
  // changes bits
  std::int64_t lanes = 8;  // logical ranks; batch = lanes * samples_per_lane
  std::int64_t samples_per_lane = 8;
};

void describe(Fields& fields, Options& options);

// Lanes of one rank that are computed at once.
struct Portion {
  Lane first;
  std::int64_t count = 0;
  bool operator==(const Portion&) const = default;
};

class Plan {
 public:
  // Throws Error(kUsage) unless 1 <= world <= lanes.
  Plan(const Options& options, int world);

  std::int64_t lanes() const { return options_.lanes; }
  std::int64_t samples_per_lane() const { return options_.samples_per_lane; }
  std::int64_t batch() const { return lanes() * samples_per_lane(); }
  int world() const { return world_; }

  // The same plan where these lanes stand alone: each is a subtree, and a partial, of its own. The
  // tree, and so the sums, stay what they are.
  Plan isolating(std::vector<Lane> lanes) const;
  const std::vector<Lane>& isolated() const { return isolated_; }

  // The rank's contiguous block: lane counts differ by at most one, the larger blocks first.
  Lane first_lane(Rank rank) const;
  std::int64_t lane_count(Rank rank) const;
  Rank owner(Lane lane) const;
  // Its samples: which draws of the global batch, counted from 0.
  std::int64_t first_draw(Rank rank) const { return first_lane(rank).value * samples_per_lane(); }
  std::int64_t sample_count(Rank rank) const { return lane_count(rank) * samples_per_lane(); }
  // The whole block as one portion; or the block in portions of `at_once` lanes, in order, the last
  // with what is left. 0: all at once. Never affects bits.
  Portion block(Rank rank) const { return {first_lane(rank), lane_count(rank)}; }
  std::vector<Portion> portions(Rank rank, std::int64_t at_once) const;
  // The maximal subtrees of a portion (around isolated lanes): what its partials stand for, in
  // order. Those of a rank's block are what the rank sends.
  std::vector<numerics::Subtree> subtrees(const Portion& portion) const;
  std::vector<numerics::Subtree> subtrees(Rank rank) const { return subtrees(block(rank)); }
  // The same as kernels want it.
  numerics::LaneBlocks blocks(const Portion& portion) const;
  numerics::LaneBlocks blocks(Rank rank) const { return blocks(block(rank)); }

 private:
  Options options_;
  int world_;
  std::vector<Lane> isolated_;  // rising
};

// Elements [first, last) of one tensor.
struct Slice {
  std::int64_t first = 0, last = 0;
  std::int64_t size() const { return last - first; }
};

// What falls to `rank` of a tensor of `size` floats: whole tiles, as many for each rank or one
// more. `turn` says whose turn it is to have one more.
Slice slice_of(std::int64_t turn, std::int64_t size, Rank rank, int world);

// Turns of tensors that are divided together, one after the other: what is left of each division
// goes on where the one before ended, so that no rank has more than one tile more than another of
// all of them.
class Turns {
 public:
  std::int64_t next(std::int64_t size);  // of a tensor of this many floats

 private:
  std::int64_t tiles_ = 0;  // of those before
};

}  // namespace lockstep::lane
