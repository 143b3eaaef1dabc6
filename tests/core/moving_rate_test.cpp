#include "lockstep/core/moving_rate.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(MovingRate, IsUnknownBeforeAnythingIsDoneAndWhereTheClockStandsStill) {
  MovingRate rate;
  EXPECT_FALSE(rate.rate(5, 1));
  rate.note(5, 0);
  EXPECT_FALSE(rate.rate(6, 0));
  EXPECT_FALSE(rate.rate(5, 1));
  EXPECT_FALSE(rate.rate(4, 1));  // it went back
  EXPECT_EQ(rate.rate(7, 1), 0.5);
}

TEST(MovingRate, ForgetsWhatLiesMoreThanAMinuteBack) {
  MovingRate rate;
  rate.note(0, 0);
  for (int second = 1; second <= 100; ++second) rate.note(second, second);
  EXPECT_EQ(rate.rate(100, 100), 1);
  for (int second = 1; second <= 100; ++second) rate.note(100 + second, 100 + 10 * second);
  EXPECT_EQ(rate.rate(200, 1100), 10);  // the mean of all is 5.5
}

TEST(MovingRate, OfStepsThatTakeLongerIsThatOfTheLastFew) {
  MovingRate rate;
  for (int step = 0; step <= 20; ++step) rate.note(1000.0 * step, step);
  EXPECT_EQ(rate.rate(20000, 20), 1e-3);
}

}  // namespace
}  // namespace lockstep
