// The tree: the one binary tree over n things.
//
// A node over [first, first+count), count > 1, splits at the largest power of two below count, left
// part first. An absent sibling passes through: nothing is added (-0 + +0 would change bits).
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/host_device.h"

namespace lockstep::numerics {

// The largest power of two below n (n >= 2).
LOCKSTEP_HD static inline constexpr std::int64_t tree_split(std::int64_t n) {
  std::int64_t p = 1;
  while (p * 2 < n) p *= 2;
  return p;
}

// The walk over [first, first+count) for any value type: leaf(i) gives value i, merge(a, b) joins.
template <class Leaf, class Merge>
LOCKSTEP_HD static inline auto tree_fold(std::int64_t first, std::int64_t count, const Leaf& leaf,
                                         const Merge& merge) -> decltype(leaf(first)) {
  if (count == 1) return leaf(first);
  const std::int64_t left = tree_split(count);
  const auto a = tree_fold(first, left, leaf, merge);
  const auto b = tree_fold(first + left, count - left, leaf, merge);
  return merge(a, b);
}

}  // namespace lockstep::numerics
