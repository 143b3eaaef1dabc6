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

class Plan {
 public:
  // Throws Error(kUsage) unless 1 <= world <= lanes.
  Plan(const Options& options, int world);

  std::int64_t lanes() const { return options_.lanes; }
  std::int64_t samples_per_lane() const { return options_.samples_per_lane; }
  std::int64_t batch() const { return lanes() * samples_per_lane(); }
  int world() const { return world_; }

  // The rank's contiguous block: lane counts differ by at most one, the larger blocks first.
  Lane first_lane(Rank rank) const;
  std::int64_t lane_count(Rank rank) const;
  // The maximal subtrees of the block: what the rank's partials stand for, in order.
  std::vector<numerics::Subtree> subtrees(Rank rank) const;
  // The same as kernels want it.
  numerics::LaneBlocks blocks(Rank rank) const;

 private:
  Options options_;
  int world_;
};

}  // namespace lockstep::lane
