#include "lockstep/data/moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace lockstep::data {
namespace {

Moments of(const std::vector<float>& values) {
  Moments moments;
  for (const float value : values) moments.add(value);
  return moments;
}

TEST(Moments, AreThoseOfTheValues) {
  const Moments moments = of({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(moments.count(), 8);
  EXPECT_EQ(moments.mean(), 5);
  EXPECT_EQ(moments.deviation(), 2);
  EXPECT_EQ(moments.least(), 2);
  EXPECT_EQ(moments.most(), 9);
}

// Where squares would swallow them.
TEST(Moments, OfSmallDifferencesFarFromZeroAreRight) {
  const Moments moments = of({16777212, 16777214, 16777214, 16777216});
  EXPECT_EQ(moments.mean(), 16777214);
  EXPECT_NEAR(moments.deviation(), std::sqrt(2), 1e-6);
}

TEST(Moments, OfPartsAreThoseOfAll) {
  Moments all = of({2, 4, 4}), none;
  all.merge(of({4, 5, 5, 7, 9}));
  all.merge(none);
  none.merge(all);
  for (const Moments& one : {all, none}) {
    EXPECT_EQ(one.count(), 8);
    EXPECT_DOUBLE_EQ(one.mean(), 5);
    EXPECT_DOUBLE_EQ(one.deviation(), 2);
    EXPECT_EQ(one.least(), 2);
    EXPECT_EQ(one.most(), 9);
  }
}

TEST(Moments, FarFromStandardIsAMeanOrADeviation) {
  EXPECT_FALSE(far_from_standard(of({-1, 1})));
  EXPECT_FALSE(far_from_standard(of({0, 2})));
  EXPECT_TRUE(far_from_standard(of({0.25F, 2.25F})));
  EXPECT_TRUE(far_from_standard(of({-2.25F, -0.25F})));
  EXPECT_TRUE(far_from_standard(of({-5, 5})));
  EXPECT_TRUE(far_from_standard(of({-0.125F, 0.125F})));
}

}  // namespace
}  // namespace lockstep::data
