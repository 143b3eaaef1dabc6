#include <gtest/gtest.h>

float with_our_flags(float a, float b, float c);
float with_contraction(float a, float b, float c);

namespace {

// (1 + e)(1 - e) = 1 - e^2 rounds to 1 as a product; fused, the sum keeps -e^2.
constexpr float kE = 0x1p-20F;

TEST(Contraction, WhoeverLinksOurFlagsGetsTwoRoundings) {
  EXPECT_EQ(with_our_flags(1 + kE, 1 - kE, -1), 0.0F);
}

TEST(Contraction, TheControlWouldHaveBeenSeen) {
  EXPECT_EQ(with_contraction(1 + kE, 1 - kE, -1), -kE * kE);
}

}  // namespace
