// Partials that come portion by portion are those of all lanes at once.
#include "lane/pending.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>

#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"

namespace lockstep::lane {
namespace {

constexpr std::int64_t kWidth = 3;

// Row of a lane: values whose sums depend on the order of additions.
std::vector<float> row_of(std::int64_t lane) {
  std::vector<float> row;
  for (std::int64_t j = 0; j < kWidth; ++j)
    row.push_back(1.0F / static_cast<float>(1 + (lane * 7 + j * 11) % 23));
  return row;
}

// [nodes, kWidth], each the tree over its lanes.
at::Tensor partials_of(const std::vector<numerics::Subtree>& nodes) {
  at::Tensor rows = ops::empty({static_cast<std::int64_t>(nodes.size()), kWidth});
  float* out = ops::write(rows);
  for (const numerics::Subtree& node : nodes) {
    std::vector<std::vector<float>> lanes;
    std::vector<const float*> pointers;
    for (std::int64_t lane = 0; lane < node.count; ++lane)
      lanes.push_back(row_of(node.first + lane));
    for (const auto& lane : lanes) pointers.push_back(lane.data());
    ops::device().tree_sum(pointers.data(), node.count, kWidth, out);
    out += kWidth;
  }
  return rows;
}

std::vector<std::uint32_t> bits(const at::Tensor& tensor) {
  std::vector<std::uint32_t> all;
  for (std::int64_t i = 0; i < tensor.numel(); ++i)
    all.push_back(std::bit_cast<std::uint32_t>(ops::read(tensor)[i]));
  return all;
}

RC_GTEST_PROP(PendingPartials, OfAnyPortionsAreThoseOfAllLanes, ()) {
  const auto lanes = *rc::gen::inRange<std::int64_t>(1, 40);
  const auto world =
      *rc::gen::inRange<int>(1, static_cast<int>(std::min<std::int64_t>(lanes, 6)) + 1);
  const auto at_once = *rc::gen::inRange<std::int64_t>(1, 10);
  std::vector<Lane> isolated;
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    if (*rc::gen::inRange(0, 8) == 0) isolated.emplace_back(lane);
  const Plan plan = Plan({.lanes = lanes, .samples_per_lane = 1}, world).isolating(isolated);
  for (int r = 0; r < world; ++r) {
    const auto ends = plan.subtrees(Rank(r));
    PendingPartials pending;
    std::int64_t next = plan.partition().lanes_of(Rank(r)).first.value;
    std::vector<Portion> portions = plan.portions(Rank(r), at_once);
    for (const Portion& portion : portions) {
      RC_ASSERT(portion.first.value == next);
      RC_ASSERT(portion.count >= 1 && portion.count <= at_once);
      next += portion.count;
    }
    RC_ASSERT(next == plan.partition().lanes_of(Rank(r) + 1).first.value);
    while (!portions.empty()) {  // in any order
      const auto one =
          portions.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(portions));
      const auto nodes = plan.subtrees(*one);
      portions.erase(one);
      RC_ASSERT(pending.add(plan, ends, nodes, partials_of(nodes)) == portions.empty());
    }
    const at::Tensor rows = pending.take();
    RC_ASSERT(rows.size(0) == static_cast<std::int64_t>(ends.size()));
    RC_ASSERT(bits(rows) == bits(partials_of(ends)));
  }
}

// The control: added in another order than the tree's, the same rows give other bits.
TEST(PendingPartials, DependOnTheTree) {
  const Plan plan({.lanes = 6, .samples_per_lane = 1}, 1);
  std::vector<float> total(kWidth);
  for (std::int64_t lane = 0; lane < 6; ++lane)
    for (std::int64_t j = 0; j < kWidth; ++j)
      total[static_cast<std::size_t>(j)] += row_of(lane)[static_cast<std::size_t>(j)];
  const at::Tensor whole = partials_of(plan.subtrees(Rank(0)));
  EXPECT_FALSE(std::equal(total.begin(), total.end(), ops::read(whole)));
}

}  // namespace
}  // namespace lockstep::lane
