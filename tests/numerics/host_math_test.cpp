#include "lockstep/numerics/host_math.h"

#include <gtest/gtest.h>
#include <mpfr.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "lockstep/core/error.h"
#include "lockstep/numerics/spec/binary64.h"

namespace lockstep::numerics {
namespace {

// |value - exact| in units of value's last place; `exact` computed by MPFR to 200 bits.
template <class Compute>
double ulps(double value, Compute compute) {
  mpfr_t exact, difference;
  mpfr_init2(exact, 200);
  mpfr_init2(difference, 200);
  compute(exact);
  mpfr_sub_d(difference, exact, value, MPFR_RNDN);
  const double error = std::fabs(mpfr_get_d(difference, MPFR_RNDN));
  mpfr_clear(exact);
  mpfr_clear(difference);
  if (error == 0) return 0;
  return error / (std::nextafter(std::fabs(value), INFINITY) - std::fabs(value));
}

using Mpfr = int (*)(mpfr_t, const mpfr_t, mpfr_rnd_t);

double ulps(double (*ours)(double), Mpfr exact, double x) {
  return ulps(ours(x), [&](mpfr_t out) {
    mpfr_set_d(out, x, MPFR_RNDN);
    exact(out, out, MPFR_RNDN);
  });
}

double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

RC_GTEST_PROP(HostMath, FunctionsAreWithinTwoUlps, (std::uint64_t bits)) {
  const double u = unit(bits);
  for (const double range : {1e-3, 1.0, 10.0, 700.0}) {
    const double x = (2 * u - 1) * range;
    RC_ASSERT(ulps(host::exp, mpfr_exp, x) < 2);
    RC_ASSERT(ulps(host::sin, mpfr_sin, x) < 2);
    RC_ASSERT(ulps(host::cos, mpfr_cos, x) < 2);
    RC_ASSERT(ulps(host::log, mpfr_log, 1 + 0.5 * (2 * u - 1)) < 2);
    RC_ASSERT(ulps(host::log, mpfr_log, u * range + 1e-300) < 2);
  }
  const double far = (2 * u - 1) * 0x1p20;
  RC_ASSERT(ulps(host::sin, mpfr_sin, far) < 2);
  RC_ASSERT(ulps(host::cos, mpfr_cos, far) < 2);
}

RC_GTEST_PROP(HostMath, PowIsWithinTwoUlps, (std::uint64_t bits, std::uint32_t more)) {
  for (const double x : {unit(bits), 0.9, 0.999, 0.9999, 1 + unit(bits), 100 * unit(bits)}) {
    if (x == 0) continue;
    for (const double y : {more % 2000 * 1.0, unit(bits) * 30, -3.5}) {
      const double value = host::pow(x, y);
      if (value < 0x1p-1000 || value > 0x1p1000) continue;
      const double error = ulps(value, [&](mpfr_t out) {
        mpfr_t base;
        mpfr_init2(base, 53);
        mpfr_set_d(base, x, MPFR_RNDN);
        mpfr_set_d(out, y, MPFR_RNDN);
        mpfr_pow(out, base, out, MPFR_RNDN);
        mpfr_clear(base);
      });
      RC_ASSERT(error < 2);
    }
  }
}

// Golden bits: the specification is the sequence of operations, so these may never change.
TEST(HostMath, GivesTheBitsOfTheSpecification) {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  EXPECT_EQ(bits(host::exp(1)), bits(0x1.5bf0a8b145769p+1));
  EXPECT_EQ(bits(host::log(10)), bits(0x1.26bb1bbb55516p+1));
  EXPECT_EQ(bits(host::sin(100)), bits(-0x1.03425b78c4db8p-1));
  EXPECT_EQ(bits(host::cos(100)), bits(0x1.b981dbf665fdfp-1));
  EXPECT_EQ(bits(host::pow(0.999, 1234)), bits(0x1.29edc3254efc3p-2));
}

TEST(HostMath, SpecialValues) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(host::exp(0), 1);
  EXPECT_EQ(host::exp(1000), kInfinity);
  EXPECT_EQ(host::exp(-1000), 0);
  EXPECT_GT(host::exp(-744), 0);
  EXPECT_EQ(host::log(1), 0);
  EXPECT_EQ(host::log(0), -kInfinity);
  EXPECT_TRUE(std::isnan(host::log(-1)));
  EXPECT_EQ(host::sin(0), 0);
  EXPECT_EQ(host::cos(0), 1);
  EXPECT_EQ(host::pow(0, 3), 0);
  EXPECT_EQ(host::pow(0, 0), 1);
  EXPECT_EQ(host::pow(2, 10), 1024);
  EXPECT_EQ(host::pow(1, 1e6), 1);
  EXPECT_EQ(host::pow(10, 400), kInfinity);
  EXPECT_EQ(host::sqrt(9), 3);
  EXPECT_THROW(host::sin(0x1p21), Error);
  EXPECT_THROW(host::cos(-0x1p21), Error);
}

// A device cannot throw.
TEST(HostMath, AnglesBeyondTheDomainAreNanWithoutTheHostsCheck) {
  for (const double x : {0x1.0000000000001p20, -0x1p21, double{INFINITY}, double{NAN}}) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(binary64::sin(x)), 0x7ff8000000000000u);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(binary64::cos(x)), 0x7ff8000000000000u);
  }
  EXPECT_EQ(binary64::sin(0x1p20), host::sin(0x1p20));
}

}  // namespace
}  // namespace lockstep::numerics
