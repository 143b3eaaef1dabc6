// The tree: the one binary tree over n things, and how a block of lanes falls into its subtrees.
//
// A node over [first, first+count), count > 1, splits at the largest power of two below count, left
// part first. An absent sibling passes through: nothing is added (-0 + +0 would change bits).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace lockstep::numerics {

// The largest power of two below n (n >= 2).
constexpr std::int64_t tree_split(std::int64_t n) {
  std::int64_t p = 1;
  while (p * 2 < n) p *= 2;
  return p;
}

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

// The same walk for any value type: leaf(i) gives value i of [first, first+count), merge(a, b)
// joins.
template <class Leaf, class Merge>
auto tree_fold(std::int64_t first, std::int64_t count, Leaf&& leaf, Merge&& merge)
    -> decltype(leaf(first)) {
  if (count == 1) return leaf(first);
  const std::int64_t left = tree_split(count);
  auto a = tree_fold(first, left, leaf, merge);
  auto b = tree_fold(first + left, count - left, leaf, merge);
  return merge(std::move(a), std::move(b));
}

}  // namespace lockstep::numerics
