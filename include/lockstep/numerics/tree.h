// Sums over lanes in the tree (spec/tree.h): element-wise IEEE additions, nothing else. The rows
// lie anywhere in the device's memory; the lists of them in the host's. Bits: values, count.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lockstep/numerics/spec/tree.h"

namespace lockstep::numerics {

// A node of the tree over `total` lanes.
struct Subtree {
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool operator==(const Subtree&) const = default;
};

// The maximal nodes of the tree over `total` lanes that lie inside [first, first+count), in order.
// Every block of lanes is the union of its maximal subtrees; the whole range gives one node.
std::vector<Subtree> maximal_subtrees(std::int64_t total, std::int64_t first, std::int64_t count);

// The node of the tree over `total` lanes whose children are `left` and `right`; nothing if there
// is none.
std::optional<Subtree> parent_of(std::int64_t total, Subtree left, Subtree right);

// How the samples in a rank's batch fall into lanes and partials. Samples are lane-major:
// sample s of the batch lies in the rank's lane s / samples_per_lane.
struct LaneBlocks {
  std::int64_t samples_per_lane = 1;
  std::vector<std::int64_t> lanes;  // lanes in each maximal subtree of the rank's block, in order

  std::int64_t partials() const { return static_cast<std::int64_t>(lanes.size()); }
  std::int64_t lane_count() const;
  std::int64_t samples() const { return lane_count() * samples_per_lane; }
};

class TreeSums {
 public:
  // Sums `count` rows of `width` floats in the tree: out[j] = tree over i of rows[i][j]. `out` may
  // be rows[0]. Element-wise IEEE additions, nothing else. Bits: values, count.
  virtual void tree_sum(const float* const* rows, std::int64_t count, std::int64_t width,
                        float* out) = 0;

  // Combines partials that cover [0, total) lanes (subtrees of every rank, in lane order) into the
  // whole: out[j] = the tree over total lanes. nodes[i] belongs to rows[i].
  // LOCKSTEP_ASSERTs that the nodes tile [0, total) and are nodes of the tree.
  virtual void tree_sum_nodes(std::int64_t total, std::span<const Subtree> nodes,
                              const float* const* rows, std::int64_t width, float* out) = 0;

 protected:
  ~TreeSums() = default;
};

}  // namespace lockstep::numerics
