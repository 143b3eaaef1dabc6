#include "lockstep/numerics/tree.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/numerics/philox.h"
#include "numerics/device.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

using Rows = std::vector<std::vector<float>>;

Rows random_rows(std::int64_t count, std::int64_t width) {
  Rows rows(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].resize(static_cast<std::size_t>(width));
    device().fill_normal({.key = {9, 9}}, i, 1, width, rows[i].data());
  }
  return rows;
}

std::vector<const float*> pointers(const Rows& rows) {
  std::vector<const float*> out;
  for (const auto& row : rows) out.push_back(row.data());
  return out;
}

std::vector<float> whole_sum(const Rows& rows) {
  std::vector<float> out(rows[0].size());
  device().tree_sum(pointers(rows).data(), static_cast<std::int64_t>(rows.size()),
                    static_cast<std::int64_t>(out.size()), out.data());
  return out;
}

// Cuts [0, total) into contiguous blocks, as ranks do; some may be empty.
std::vector<std::int64_t> draw_cuts(std::int64_t total) {
  auto inner =
      *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, total + 1));
  inner.push_back(0);
  inner.push_back(total);
  std::sort(inner.begin(), inner.end());
  return inner;
}

RC_GTEST_PROP(Tree, SumIsTheSameForEveryPartitionIntoRanks, ()) {
  const auto total = *rc::gen::inRange<std::int64_t>(1, 40);
  const auto width = *rc::gen::inRange<std::int64_t>(1, 600);
  const Rows rows = random_rows(total, width);
  const std::vector<float> whole = whole_sum(rows);
  const std::vector<std::int64_t> cuts = draw_cuts(total);
  with_every_isa([&] {
    Rows partials;
    std::vector<Subtree> nodes;
    for (std::size_t rank = 0; rank + 1 < cuts.size(); ++rank) {
      for (const Subtree& node : maximal_subtrees(total, cuts[rank], cuts[rank + 1] - cuts[rank])) {
        nodes.push_back(node);
        partials.push_back(
            whole_sum(Rows(rows.begin() + node.first, rows.begin() + node.first + node.count)));
      }
    }
    std::vector<float> combined(whole.size());
    device().tree_sum_nodes(total, nodes, pointers(partials).data(), width, combined.data());
    RC_ASSERT(first_difference(whole, combined) == -1);
  });
}

RC_GTEST_PROP(Tree, MaximalSubtreesTileTheBlockAndNoneCanGrow, ()) {
  const auto total = *rc::gen::inRange<std::int64_t>(1, 200);
  const auto first = *rc::gen::inRange<std::int64_t>(0, total);
  const auto count = *rc::gen::inRange<std::int64_t>(0, total - first + 1);
  // All nodes of the tree with their parents.
  std::vector<std::pair<Subtree, Subtree>> todo = {{{0, total}, {0, total + 1}}};
  std::vector<Subtree> expected;
  while (!todo.empty()) {
    const auto [node, parent] = todo.back();
    todo.pop_back();
    const auto inside = [&](Subtree s) {
      return s.first >= first && s.first + s.count <= first + count;
    };
    if (inside(node) && !inside(parent)) expected.push_back(node);
    if (node.count > 1) {
      const std::int64_t left = tree_split(node.count);
      todo.push_back({{node.first + left, node.count - left}, node});
      todo.push_back({{node.first, left}, node});
    }
  }
  const std::vector<Subtree> nodes = maximal_subtrees(total, first, count);
  RC_ASSERT(nodes == expected);
  std::int64_t covered = first;
  for (const Subtree& node : nodes) {
    RC_ASSERT(node.first == covered);
    covered += node.count;
  }
  RC_ASSERT(covered == first + count);
}

RC_GTEST_PROP(Tree, FoldWalksTheSameTreeAsTheSum, ()) {
  const auto total = *rc::gen::inRange<std::int64_t>(1, 60);
  const Rows rows = random_rows(total, 1);
  const float folded = tree_fold(
      0, total, [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)][0]; },
      [](float a, float b) { return a + b; });
  with_every_isa([&] { RC_ASSERT(bits_of(folded) == bits_of(whole_sum(rows)[0])); });
}

TEST(Tree, NothingIsAddedForAnAbsentSibling) {
  const Rows one = {{-0.0f}}, three = {{-0.0f}, {-0.0f}, {-0.0f}};
  with_every_isa([&] {
    EXPECT_EQ(bits_of(whole_sum(one)[0]), 0x80000000u);
    EXPECT_EQ(bits_of(whole_sum(three)[0]), 0x80000000u);
  });
}

TEST(Tree, OutMayBeTheFirstRowAndThreadsDoNotMatter) {
  Rows rows = random_rows(5, 70001);
  const std::vector<float> whole = whole_sum(rows);
  use_threads(7);
  device().tree_sum(pointers(rows).data(), 5, 70001, rows[0].data());
  use_threads(1);
  EXPECT_EQ(first_difference(whole, rows[0]), -1);
}

TEST(Tree, PartialsThatAreNoNodesOfTheTreeAreRefused) {
  const Rows rows = random_rows(3, 4);
  std::vector<float> out(4);
  const std::vector<Subtree> not_nodes = {{0, 1}, {1, 2}};
  const std::vector<Subtree> gap = {{0, 2}, {3, 1}};
  EXPECT_THROW(device().tree_sum_nodes(3, not_nodes, pointers(rows).data(), 4, out.data()), Error);
  EXPECT_THROW(device().tree_sum_nodes(4, gap, pointers(rows).data(), 4, out.data()), Error);
}

TEST(Tree, LaneBlocksCountLanesAndSamples) {
  const LaneBlocks blocks = {.samples_per_lane = 3, .lanes = {4, 2, 1}};
  EXPECT_EQ(blocks.partials(), 3);
  EXPECT_EQ(blocks.lane_count(), 7);
  EXPECT_EQ(blocks.samples(), 21);
}

}  // namespace
}  // namespace lockstep::numerics
