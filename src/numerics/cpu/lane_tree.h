// Private: sums of a lane made whole by the tree.
#pragma once

#include <cstdint>

#include "lockstep/numerics/tree.h"
#include "numerics/cpu/elementwise_kernels.h"
#include "numerics/cpu/packed.h"

namespace lockstep::numerics {

// out = the tree over lanes [first, first+count) of leaf(lane, out), `size` floats.
template <class Leaf>
void tree_of_lanes(Isa isa, std::int64_t first, std::int64_t count, std::int64_t size,
                   const Leaf& leaf, float* out) {
  if (count == 1) return leaf(first, out);
  const std::int64_t left = tree_split(count);
  tree_of_lanes(isa, first, left, size, leaf, out);
  const Scratch right(size);
  tree_of_lanes(isa, first + left, count - left, size, leaf, right.data());
  elementwise_kernels(isa).binary[static_cast<int>(Binary::kAdd)](size, out, right.data(), out);
}

// Rows [begin, end) of dw [partials][rows][columns]: of each partial the tree over its lanes of
// leaf(lane, out).
template <class Leaf>
void tree_of_partials(Isa isa, const LaneBlocks& lanes, std::int64_t rows, std::int64_t columns,
                      std::int64_t begin, std::int64_t end, const Leaf& leaf, float* dw) {
  std::int64_t lane = 0, first_row = begin;
  for (const std::int64_t count : lanes.lanes) {
    tree_of_lanes(isa, lane, count, (end - begin) * columns, leaf, dw + first_row * columns);
    lane += count;
    first_row += rows;
  }
}

}  // namespace lockstep::numerics
