// What GPUs compute in binary32 and decide in binary64 only where they must.
// `numerics_functions_all` goes through every float.
#include "numerics/float_pairs.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <functional>

#include "lockstep/numerics/spec/functions.h"
#include "lockstep/numerics/spec/integer.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

// Every 251st float of both signs.
void with_floats(const std::function<void(float)>& body) {
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += 251)
    body(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

TEST(FloatPairs, GiveTheBitsOfBinary64) {
  with_floats([](float x) {
    ASSERT_EQ(bits_of(with_pairs::exp(x)), bits_of(scalar::exp(x)))
        << "exp of " << std::hexfloat << x;
    ASSERT_EQ(bits_of(with_pairs::tanh(x)), bits_of(scalar::tanh(x)))
        << "tanh of " << std::hexfloat << x;
  });
}

// Of the 74 floats whose result lies so near the middle of two that a pair alone rounds it to the
// wrong one.
TEST(FloatPairs, LeaveWhatTheyCannotDecide) {
  for (const float x : {0x1p-24f, 0x1.747de2p-15f, 0x1.8d7cb6p-12f, 0x1.cb763ap-12f})
    EXPECT_EQ(bits_of(with_pairs::exp(x)), bits_of(scalar::exp(x))) << std::hexfloat << x;
  for (const float x : {0x1.86fbc4p-10f, 0x1.916c0ap-8f, 0x1.9c696p-7f, 0x1.f860aap-5f})
    EXPECT_EQ(bits_of(with_pairs::tanh(x)), bits_of(scalar::tanh(x))) << std::hexfloat << x;
}

// Or they would be no faster: a warp of 32 goes the long way if one of its threads does.
TEST(FloatPairs, AlmostAlwaysDecide) {
  std::int64_t exps = 0, undecided_exps = 0, tanhs = 0, undecided_tanhs = 0;
  with_floats([&](float x) {
    float result;
    if (x >= -80 && x <= 80) {
      ++exps;
      undecided_exps += !quick::exp(x, &result);
    }
    if (x >= 0 && x <= 10) {
      ++tanhs;
      undecided_tanhs += !quick::tanh(x, &result);
    }
  });
  EXPECT_LT(undecided_exps, exps / 50000);
  EXPECT_LT(undecided_tanhs, tanhs / 50000);
}

// Where `quick` says so, the ways of tiles are that of the specification.
void expect_scaled_alike(std::int64_t sum, std::int32_t u, std::int32_t v) {
  const spec::Scale by = spec::scale_of(u, v);
  if (!spec::quick(by)) return;
  const std::uint32_t wanted = bits_of(spec::scaled(sum, by));
  if (sum > -(std::int64_t{1} << 47) && sum < std::int64_t{1} << 47) {
    ASSERT_EQ(bits_of(spec::quickly_scaled(sum, by)), wanted) << sum << " " << u << " " << v;
  }
  const auto small = static_cast<std::int32_t>(sum);
  if (small == sum) {
    ASSERT_EQ(bits_of(spec::quickly_scaled(small, by)), wanted) << sum << " " << u << " " << v;
  }
}

TEST(FloatPairs, ProductsOfIntegersAreRoundedOnce) {
  static_assert(2047 * 2047 * spec::kQuickProducts < std::int64_t{1} << 47);
  EXPECT_TRUE(rc::check([] {
    const int bits = *rc::gen::inRange(0, 48);
    expect_scaled_alike(
        *rc::gen::inRange<std::int64_t>(-(std::int64_t{1} << bits), (std::int64_t{1} << bits) + 1),
        *rc::gen::inRange(-116, 129), *rc::gen::inRange(-116, 129));
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
  // Ties and what lies next to them, at the ends of what is scaled in binary32.
  for (const std::int64_t odd : {1, 3, 5})
    for (int shift = 0; shift < 22; ++shift)
      for (const std::int64_t off : {-1, 0, 1})
        for (const std::int64_t sign : {-1, 1})
          for (const int e : {-128, -127, -126, -125, -20, 100, 107, 108, 126, 127, 128}) {
            const int u = (e + 20) / 2;
            expect_scaled_alike(sign * ((((std::int64_t{1} << 24) + odd) << shift) + off), u,
                                e + 20 - u);
          }
  for (const std::int64_t sum : {std::int64_t{INT32_MIN}, std::int64_t{INT32_MAX}, std::int64_t{0}})
    for (const int u : {-106, 0, 107, 128}) expect_scaled_alike(sum, u, 0);
}

}  // namespace
}  // namespace lockstep::numerics
