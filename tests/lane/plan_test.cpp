#include "lockstep/lane/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lockstep::lane {
namespace {

RC_GTEST_PROP(Plan, ItsSubtreesAreTheRanksLanesInOrder, ()) {
  const auto lanes = *rc::gen::inRange<std::int64_t>(1, 100);
  const auto samples = *rc::gen::inRange<std::int64_t>(1, 10);
  const auto world = *rc::gen::inRange<int>(1, static_cast<int>(lanes) + 1);
  const Plan plan({.lanes = lanes, .samples_per_lane = samples}, world);
  RC_ASSERT(plan.batch() == lanes * samples);
  std::int64_t next = 0;
  for (int r = 0; r < world; ++r) {
    RC_ASSERT(plan.first_draw(Rank(r)) == next * samples);
    const auto subtrees = plan.subtrees(Rank(r));
    const numerics::LaneBlocks blocks = plan.blocks(Rank(r));
    RC_ASSERT(blocks.samples_per_lane == samples);
    RC_ASSERT(blocks.samples() == plan.sample_count(Rank(r)));
    RC_ASSERT(blocks.partials() == static_cast<std::int64_t>(subtrees.size()));
    for (std::size_t i = 0; i < subtrees.size(); ++i) {
      RC_ASSERT(subtrees[i].first == next);
      RC_ASSERT(subtrees[i].count == blocks.lanes[i]);
      next += subtrees[i].count;
    }
  }
  RC_ASSERT(next == lanes);
}

TEST(Plan, OfOneRankIsOneTree) {
  for (std::int64_t lanes = 1; lanes < 40; ++lanes) {
    EXPECT_EQ(Plan({.lanes = lanes, .samples_per_lane = 2}, 1).blocks(Rank(0)).lanes,
              std::vector<std::int64_t>{lanes});
  }
}

}  // namespace
}  // namespace lockstep::lane
