#include "lockstep/numerics/spec/functions.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "lockstep/numerics/spec/functions_slow.h"
#include "numerics/device.h"
#include "numerics/oracle.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

using oracle::Function;

struct Case {
  Function function;
  Unary op;
};

const Case kCases[] = {{{"exp", scalar::exp, mpfr_exp, std::exp}, Unary::kExp},
                       {{"log", scalar::log, mpfr_log, std::log}, Unary::kLog},
                       {{"sin", scalar::sin, mpfr_sin, std::sin}, Unary::kSin},
                       {{"cos", scalar::cos, mpfr_cos, std::cos}, Unary::kCos},
                       {{"tanh", scalar::tanh, mpfr_tanh, std::tanh}, Unary::kTanh},
                       {{"erf", scalar::erf, mpfr_erf, std::erf}, Unary::kErf}};

void append_around(float x, std::vector<float>& out) {
  for (int i = -3; i <= 3; ++i) {
    const std::uint32_t bits = bits_of(x) + static_cast<std::uint32_t>(i);
    out.push_back(std::bit_cast<float>(bits));
    out.push_back(std::bit_cast<float>(bits ^ 0x80000000u));
  }
}

// Every power of two and its neighbours, the ends of ranges, multiples of pi/2, huge arguments,
// zeros, infinities, NaNs.
std::vector<float> hard_arguments() {
  std::vector<float> xs;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    append_around(std::bit_cast<float>(exponent << 23), xs);
  }
  for (const float x : {88.72283f, 87.33655f, 103.97208f, 103.27893f, 9.010914f, 3.8325066f, 0.5f,
                        1.0f, 4.0f, 10.0f, 0.75f, 0x1p20f, 0.70710678f, 1.41421356f,
                        0x1.fffffep127f, std::numeric_limits<float>::infinity()}) {
    append_around(x, xs);
  }
  for (int n = 1; n < 2000; ++n) append_around(static_cast<float>(n * 1.5707963267948966), xs);
  // The float nearest to a multiple of pi/2 (Muller, Elementary Functions).
  append_around(16367173.0f * 0x1p72f, xs);
  for (const std::uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0x7fc12345u}) {
    xs.push_back(std::bit_cast<float>(nan));
  }
  return xs;
}

std::vector<float> dense_arguments() {
  std::vector<float> xs;
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += 1009) {
    xs.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return xs;
}

TEST(Functions, AreCorrectlyRoundedByMpfr) {
  for (const Case& c : kCases) {
    for (const float x : hard_arguments()) {
      EXPECT_EQ(bits_of(c.function.ours(x)), bits_of(oracle::by_mpfr(c.function, x)))
          << c.function.name << "(" << std::hexfloat << x << ")";
    }
  }
}

TEST(Functions, AreCorrectlyRoundedOnEvery1009thFloatOnEveryIsa) {
  const std::vector<float> xs = dense_arguments();
  const auto n = static_cast<std::int64_t>(xs.size());
  for (const Case& c : kCases) {
    std::vector<float> exact;
    exact.reserve(xs.size());
    for (const float x : xs) exact.push_back(oracle::rounded(c.function, x));
    with_every_isa([&] {
      std::vector<float> ours(xs.size());
      device().unary(c.op, n, xs.data(), ours.data());
      const std::int64_t at = first_difference(ours, exact);
      EXPECT_EQ(at, -1) << c.function.name << "(" << std::hexfloat
                        << xs[static_cast<std::size_t>(at)] << ")";
    });
  }
}

TEST(Functions, HardArgumentsAreTheSameOnEveryIsa) {
  const std::vector<float> xs = hard_arguments();
  for (const Case& c : kCases) {
    with_every_isa([&] {
      std::vector<float> ours(xs.size());
      device().unary(c.op, static_cast<std::int64_t>(xs.size()), xs.data(), ours.data());
      for (std::size_t i = 0; i < xs.size(); ++i) {
        ASSERT_EQ(bits_of(ours[i]), bits_of(c.function.ours(xs[i])))
            << c.function.name << "(" << std::hexfloat << xs[i] << ")";
      }
    });
  }
}

TEST(Functions, KeepTheSignOfZero) {
  for (auto* f : {scalar::sin, scalar::tanh, scalar::erf}) {
    EXPECT_EQ(bits_of(f(-0.0f)), 0x80000000u);
    EXPECT_EQ(bits_of(f(0.0f)), 0u);
  }
  EXPECT_EQ(scalar::log(0.0f), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(bits_of(scalar::log(1.0f)), 0u);
  EXPECT_EQ(scalar::exp(0.0f), 1.0f);
}

TEST(Functions, TheSlowPathAloneIsCorrectlyRounded) {
  const Function slow_log = {"log", [](float x) { return slow::log(x, std::log(double{x})); },
                             mpfr_log, std::log};
  const Function functions[] = {
      {"exp", slow::exp, mpfr_exp, std::exp}, {"sin", slow::sin, mpfr_sin, std::sin},
      {"cos", slow::cos, mpfr_cos, std::cos}, {"tanh", slow::tanh, mpfr_tanh, std::tanh},
      {"erf", slow::erf, mpfr_erf, std::erf}, slow_log};
  for (std::uint32_t bits = 0x30000001; bits < 0x40800000; bits += 40009) {
    const float x = std::bit_cast<float>(bits);  // 2^-31 to 4
    for (const Function& f : functions) {
      ASSERT_EQ(bits_of(f.ours(x)), bits_of(oracle::by_mpfr(f, x)))
          << f.name << "(" << std::hexfloat << x << ")";
    }
  }
}

}  // namespace
}  // namespace lockstep::numerics
