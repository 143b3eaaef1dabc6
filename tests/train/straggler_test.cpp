// Who is named slow, and when.
#include "train/straggler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::train {
namespace {

using testing::HasSubstr;

// What is said in `steps` steps that take each rank so long.
std::vector<std::string> said(Straggler& straggler, int steps, const std::vector<double>& seconds) {
  std::vector<std::string> lines;
  for (int i = 0; i < steps; ++i) {
    if (const auto line = straggler.after(seconds)) lines.push_back(*line);
  }
  return lines;
}

const lane::Plan kEightByThree({.lanes = 8, .samples_per_lane = 1}, 3);  // 3 + 3 + 2 lanes

TEST(Straggler, IsNamedOncePerFiveSecondsOfItsTime) {
  Straggler straggler(kEightByThree);
  EXPECT_TRUE(said(straggler, 4, {0.5, 1.0, 0.4}).empty());
  const auto lines = said(straggler, 6, {0.5, 1.0, 0.4});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("rank 1 is slow: in the last 5 steps it computed "));
  EXPECT_THAT(lines[0], HasSubstr(" times as long per lane"));
}

TEST(Straggler, IsNotWhoHasMoreLanes) {
  Straggler straggler(kEightByThree);
  EXPECT_TRUE(said(straggler, 100, {1.5, 1.5, 1.0}).empty());
  EXPECT_EQ(said(straggler, 5, {1.0, 1.0, 1.25}).size(), 1u);  // the fewest lanes
}

TEST(Straggler, IsNobodyAlone) {
  Straggler straggler(lane::Plan({.lanes = 8, .samples_per_lane = 1}, 1));
  EXPECT_TRUE(said(straggler, 100, {10}).empty());
}

}  // namespace
}  // namespace lockstep::train
