// Sums over lanes in the tree (spec/tree.h): element-wise IEEE additions, nothing else. The rows
// lie anywhere in the device's memory; the lists of them in the host's. Bits: values, count.
#pragma once

#include <cstdint>
#include <span>

#include "lockstep/numerics/spec/tree.h"

namespace lockstep::numerics {

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
