// exp, log, sin, cos, pow, sqrt of binary64: the host scalars of docs/numerics.md. Host code
// calls them by host_math.h, which refuses arguments beyond their domains. Not correctly rounded
// (error < 2 ulp): these sequences of operations are the specification, and changing a digit or the
// order of two operations changes bits.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/operations.h"
#include "lockstep/numerics/spec/pair.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics::binary64 {

using spec::Pair;

inline constexpr double kRoundToInteger = 0x1.8p52;
inline constexpr double kLog2E = 0x1.71547652b82fep+0;
inline constexpr double kLn2High = 0x1.62e42fef00000p-1, kLn2Low = 0x1.473de6af278edp-34;
inline constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
inline constexpr double kHalfPiHi = 0x1.921fb54442d18p+0, kHalfPiLo = 0x1.1a62633145c07p-54;
LOCKSTEP_HD static inline const double (&exp_coefficients())[12] {
  static constexpr double c[] = {0x1p-1,
                                 0x1.5555555555555p-3,
                                 0x1.5555555555557p-5,
                                 0x1.1111111111111p-7,
                                 0x1.6c16c16c15a68p-10,
                                 0x1.a01a01a0196acp-13,
                                 0x1.a01a01a9e991bp-16,
                                 0x1.71de3a5aa7bb7p-19,
                                 0x1.27e4d41966f2fp-22,
                                 0x1.ae642c82e33d5p-26,
                                 0x1.1f7f2776cfaf2p-29,
                                 0x1.61bfaa228dde5p-33};
  return c;
}
LOCKSTEP_HD static inline const double (&log_coefficients())[9] {
  static constexpr double c[] = {0x1.5555555555555p-1, 0x1.9999999999998p-2, 0x1.2492492492962p-2,
                                 0x1.c71c71c64b463p-3, 0x1.745d17d40cf59p-3, 0x1.3b137afb813a0p-3,
                                 0x1.111d30dcfa14ap-3, 0x1.debd2cc5021e0p-4, 0x1.e6bf079f670fep-4};
  return c;
}
LOCKSTEP_HD static inline const double (&sin_coefficients())[7] {
  static constexpr double c[] = {
      -0x1.5555555555555p-3,  0x1.1111111111110p-7,  -0x1.a01a01a01992fp-13, 0x1.71de3a545f836p-19,
      -0x1.ae645410e937bp-26, 0x1.61217d9252c03p-33, -0x1.ab16f5caa198ap-41};
  return c;
}
LOCKSTEP_HD static inline const double (&cos_coefficients())[7] {
  static constexpr double c[] = {
      0x1.5555555555555p-5,  -0x1.6c16c16c16c16p-10, 0x1.a01a01a019d06p-16, -0x1.27e4fb77125c5p-22,
      0x1.1eed8deac3dfep-29, -0x1.9394b8bd50ae1p-37, 0x1.ab779550c8d9bp-45};
  return c;
}
inline constexpr int kPairTerms = 22;
inline constexpr double kMostAngle = 0x1p20;  // for sin and cos

inline constexpr double kNan = spec::bit_cast<double>(std::uint64_t{0x7ff8000000000000});
inline constexpr double kInfinity = spec::bit_cast<double>(std::uint64_t{0x7ff0000000000000});

LOCKSTEP_HD static inline double power_of_two(std::int64_t k) {
  return spec::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

// x = 2^k m, m in [sqrt(1/2), sqrt 2); x > 0, finite
struct Split {
  double k, m;
};

LOCKSTEP_HD static inline Split split(double x) {
  constexpr std::uint64_t kOne = 0x3ff0000000000000, kSqrtHalf = 0x3fe6a09e667f3bcd;
  const bool subnormal = x < 0x1p-1022;
  const auto bits = spec::bit_cast<std::uint64_t>(subnormal ? x * 0x1p54 : x);
  const std::uint64_t biased = (bits + (kOne - kSqrtHalf)) >> 52;
  return {static_cast<double>(static_cast<std::int64_t>(biased)) - (subnormal ? 1077 : 1023),
          spec::bit_cast<double>(bits - (biased << 52) + kOne)};
}

// x = quadrant pi/2 + r + tail
struct Reduced {
  double r, tail;
  std::uint64_t quadrant;
};

LOCKSTEP_HD static inline Reduced reduce(double x) {
  const double rounded = spec::fma(x, kTwoOverPi, kRoundToInteger);
  const double k = rounded - kRoundToInteger;
  const double high = spec::fma(-k, kHalfPiHi, x);
  const double r = spec::fma(-k, kHalfPiLo, high);
  return {r, spec::fma(-k, kHalfPiLo, high - r), spec::bit_cast<std::uint64_t>(rounded)};
}

LOCKSTEP_HD static inline double quadrant_sine(Reduced a, std::uint64_t quadrant) {
  const double z = a.r * a.r;
  double value;
  if ((quadrant & 1) == 0) {
    value = a.r + spec::fma(a.r * z, spec::polynomial(sin_coefficients(), z), a.tail);
  } else {
    const double half = 0.5 * z;
    const double w = 1 - half;
    const double rest = spec::fma(z * z, spec::polynomial(cos_coefficients(), z), -(a.r * a.tail));
    value = w + (((1 - w) - half) + rest);
  }
  return (quadrant & 2) != 0 ? -value : value;
}

// log(x) to about 2^-95: 2 atanh(s) = 2 s (1 + z/3 + z^2/5 + ...)
LOCKSTEP_HD static inline Pair log_pair(double x) {
  const Split parts = split(x);
  const Pair s = spec::two_sum(parts.m, -1) / spec::two_sum(parts.m, 1);
  const Pair z = s * s;
  Pair sum{0, 0};
  for (int n = kPairTerms; n >= 0; --n) sum = sum * z + Pair{1, 0} / Pair{2.0 * n + 1, 0};
  return Pair{parts.k, 0} * Pair{kLn2Hi, kLn2Lo} + Pair{2, 0} * (s * sum);
}

LOCKSTEP_HD static inline double exp(double x) {
  if (x != x) return kNan;
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  const double k = spec::fma(x, kLog2E, kRoundToInteger) - kRoundToInteger;
  const double high = spec::fma(-k, kLn2High, x);
  const double r = spec::fma(-k, kLn2Low, high);
  const double tail = spec::fma(-k, kLn2Low, high - r);
  const double y = 1 + (r + spec::fma(r * r, spec::polynomial(exp_coefficients(), r), tail));
  const auto exponent = static_cast<std::int64_t>(k);
  const std::int64_t half = exponent / 2;
  return y * power_of_two(half) * power_of_two(exponent - half);
}

LOCKSTEP_HD static inline double log(double x) {
  if (x != x || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;
  const Split parts = split(x);
  const double f = parts.m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  const double half_square = 0.5 * f * f;
  const double series = z * spec::polynomial(log_coefficients(), z);
  const double correction = spec::fma(s, half_square + series, parts.k * kLn2Low);
  return spec::fma(parts.k, kLn2High, f - (half_square - correction));
}

// |x| <= kMostAngle; NaN beyond, where the two parts of pi/2 are not enough.
LOCKSTEP_HD static inline double sin(double x) {
  if (!(x >= -kMostAngle && x <= kMostAngle)) return kNan;
  const Reduced a = reduce(x);
  return quadrant_sine(a, a.quadrant);
}

LOCKSTEP_HD static inline double cos(double x) {
  if (!(x >= -kMostAngle && x <= kMostAngle)) return kNan;
  const Reduced a = reduce(x);
  return quadrant_sine(a, a.quadrant + 1);
}

// exp(y log x) for x > 0, log in double-double; pow(0, y > 0) = 0.
LOCKSTEP_HD static inline double pow(double x, double y) {
  if (y == 0) return 1;
  if (x != x || y != y || x < 0) return kNan;
  if (x == 0 || x == kInfinity) return (x == 0) == (y > 0) ? 0 : kInfinity;
  const Pair exponent = Pair{y, 0} * log_pair(x);
  const double e = exp(exponent.hi);
  return e < kInfinity ? spec::fma(e, exponent.lo, e) : e;
}

LOCKSTEP_HD static inline double sqrt(double x) {
  return x != x || x < 0 ? kNan : spec::sqrt(x);
}

}  // namespace lockstep::numerics::binary64
LOCKSTEP_FMA_END
