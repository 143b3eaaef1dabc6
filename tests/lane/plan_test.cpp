#include "lockstep/lane/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lockstep/core/error.h"

namespace lockstep::lane {
namespace {

RC_GTEST_PROP(Plan, CutsLanesIntoContiguousBlocksOfNearlyEqualSize, ()) {
  const auto lanes = *rc::gen::inRange<std::int64_t>(1, 100);
  const auto samples = *rc::gen::inRange<std::int64_t>(1, 10);
  const auto world = *rc::gen::inRange<int>(1, static_cast<int>(lanes) + 1);
  const Plan plan({.lanes = lanes, .samples_per_lane = samples}, world);
  RC_ASSERT(plan.batch() == lanes * samples);
  std::int64_t next = 0, before = lanes;
  for (int r = 0; r < world; ++r) {
    const std::int64_t count = plan.lane_count(Rank(r));
    RC_ASSERT(plan.first_lane(Rank(r)) == Lane(next));
    RC_ASSERT(count >= lanes / world);
    RC_ASSERT(count <= (lanes + world - 1) / world);
    RC_ASSERT(count <= before);  // the larger blocks first
    before = count;

    const auto subtrees = plan.subtrees(Rank(r));
    const numerics::LaneBlocks blocks = plan.blocks(Rank(r));
    RC_ASSERT(blocks.samples_per_lane == samples);
    RC_ASSERT(blocks.samples() == count * samples);
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

TEST(Plan, RefusesWorldsThatCannotShareTheLanes) {
  for (const int world : {-1, 0, 5}) {
    try {
      const Plan plan({.lanes = 4, .samples_per_lane = 1}, world);
      FAIL() << world;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage);
    }
  }
}

}  // namespace
}  // namespace lockstep::lane
