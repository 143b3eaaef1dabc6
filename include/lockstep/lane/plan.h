// What is computed of a batch: its lanes and their samples, which the recipe fixes, and the
// subtrees of the tree over lanes that each rank's lanes are. Whose they are, `Partition` says.
#pragma once

#include <vector>

#include "lockstep/core/fields.h"
#include "lockstep/core/ids.h"
#include "lockstep/lane/partition.h"
#include "lockstep/numerics/tree.h"

namespace lockstep::lane {

struct Options {
  // changes bits
  std::int64_t lanes = 8;  // logical ranks
  std::int64_t samples_per_lane = 8;

  std::int64_t batch() const { return lanes * samples_per_lane; }  // samples
};

void describe(Fields& fields, Options& options);

class Plan {
 public:
  // Throws Partition's Error(kUsage).
  Plan(const Options& options, int world);

  std::int64_t lanes() const { return options_.lanes; }
  std::int64_t samples_per_lane() const { return options_.samples_per_lane; }
  std::int64_t batch() const { return options_.batch(); }
  const Partition& partition() const { return partition_; }

  // The same plan where these lanes stand alone: each is a subtree, and a partial, of its own. The
  // tree, and so the sums, stay what they are.
  Plan isolating(std::vector<Lane> lanes) const;
  const std::vector<Lane>& isolated() const { return isolated_; }

  // The same plan, whose lanes are some of a step's: what all of them have together it does not
  // say.
  Plan as_part() const;
  bool is_part() const { return is_part_; }

  // A rank's samples: which draws of the global batch, counted from 0.
  std::int64_t first_draw(Rank rank) const {
    return partition_.lanes_of(rank).first.value * samples_per_lane();
  }
  std::int64_t sample_count(Rank rank) const {
    return partition_.lanes_of(rank).count * samples_per_lane();
  }
  // A rank's lanes in portions of `at_once`, in order, the last with what is left. 0: all at once.
  // Never affects bits.
  std::vector<Portion> portions(Rank rank, std::int64_t at_once) const;
  // The same in at most `count` streams, which go side by side: blocks of the rank's lanes, as even
  // as those of ranks, each in portions, so that at most `at_once` lanes are there at a time.
  std::vector<std::vector<Portion>> streams(Rank rank, std::int64_t at_once, int count) const;
  // The maximal subtrees of a portion (around isolated lanes): what its partials stand for, in
  // order. Those of all of a rank's lanes, with none isolated, are what the rank sends.
  std::vector<numerics::Subtree> subtrees(const Portion& portion) const;
  std::vector<numerics::Subtree> subtrees(Rank rank) const {
    return subtrees(partition_.lanes_of(rank));
  }
  // The same as kernels want it.
  numerics::LaneBlocks blocks(const Portion& portion) const;
  numerics::LaneBlocks blocks(Rank rank) const { return blocks(partition_.lanes_of(rank)); }

 private:
  Options options_;
  Partition partition_;
  std::vector<Lane> isolated_;  // rising
  bool is_part_ = false;
};

}  // namespace lockstep::lane
