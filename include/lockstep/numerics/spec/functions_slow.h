// The functions of functions.h in about 100 bits, for the few arguments whose binary64 value lies
// too near the middle of two floats. Finite arguments inside the functions' domains only.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/pair.h"
#include "lockstep/numerics/spec/tables.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics::slow {

using spec::Pair;

LOCKSTEP_HD static inline double magnitude(double x) {
  return x < 0 ? -x : x;
}

// The float nearest hi + lo: rounding to odd first makes the second rounding harmless.
LOCKSTEP_HD static inline float to_float(Pair x) {
  auto bits = spec::bit_cast<std::uint64_t>(x.hi);
  if (x.lo != 0 && (bits & 1) == 0) bits += (x.lo > 0) == (x.hi > 0) ? 1 : std::uint64_t(-1);
  return static_cast<float>(spec::bit_cast<double>(bits));
}

// Sum over n >= 0 of the terms t(0) = first, t(n) = t(n-1) * step / divisor(n).
template <class Divisor>
LOCKSTEP_HD static inline Pair series(Pair first, Pair step, Divisor divisor) {
  Pair sum = first;
  Pair term = first;
  for (int n = 1; magnitude(term.hi) > magnitude(sum.hi) * 0x1p-112; ++n) {
    term = term * step / Pair{divisor(n), 0};
    sum = sum + term;
  }
  return sum;
}

// exp(x) - 1, relative to itself; |x| < 700
LOCKSTEP_HD static inline Pair expm1(Pair x) {
  const double rounded = x.hi * tables::kLog2E + tables::kRoundToInteger;
  const double k = rounded - tables::kRoundToInteger;
  const Pair r = k == 0 ? x : x + Pair{-k, 0} * Pair{tables::kLn2Hi, tables::kLn2Lo};
  const Pair small = series(r, r, [](int n) { return n + 1.0; });
  if (k == 0) return small;
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52;
  const double power = spec::bit_cast<double>(exponent);
  return Pair{small.hi * power, small.lo * power} + spec::two_sum(power, -1);
}

LOCKSTEP_HD static inline Pair exp(Pair x) {
  return expm1(x) + Pair{1, 0};
}

LOCKSTEP_HD static inline Pair sine(Pair r) {
  return series(r, -(r * r), [](int n) { return 2.0 * n * (2.0 * n + 1); });
}

LOCKSTEP_HD static inline Pair cosine(Pair r) {
  return series({1, 0}, -(r * r), [](int n) { return 2.0 * n * (2.0 * n - 1); });
}

LOCKSTEP_HD static inline Pair quadrant_sine(Pair r, std::uint32_t quadrant) {
  const Pair value = (quadrant & 1) != 0 ? cosine(r) : sine(r);
  return (quadrant & 2) != 0 ? -value : value;
}

// x = quadrant * pi/2 + angle, |angle| <= pi/4; angle = hi + lo to 2^-100.
struct Reduced {
  double hi, lo;
  std::uint32_t quadrant;  // modulo 4
};

// Payne and Hanek 1983: the bits of x * 2/pi from 2 before to 192 after the binary point.
LOCKSTEP_HD_RARE Reduced reduce(float x) {
  if (x > -0.75f && x < 0.75f) return {x, 0, 0};
  const auto bits = spec::bit_cast<std::uint32_t>(x);
  // x = +-mantissa * 2^(32 word + shift)
  const int exponent = static_cast<int>((bits >> 23) & 255) - 150 + 32;
  const int word = exponent / 32;
  const std::uint64_t mantissa = static_cast<std::uint64_t>((bits & 0x7fffff) | 0x800000)
                                 << (exponent % 32);
  const std::uint64_t low = mantissa & 0xffffffff;
  const std::uint64_t high = mantissa >> 32;
  const std::uint32_t(&words)[14] = tables::two_over_pi_words();
  constexpr int kWords = 7;  // one before the binary point
  std::uint32_t product[kWords];
  std::uint64_t carry = 0;
  for (int i = kWords - 1; i >= 0; --i) {
    const std::uint64_t a = low * words[word + i];
    const std::uint64_t b = high * words[word + i + 1];
    const std::uint64_t sum = (a & 0xffffffff) + (b & 0xffffffff) + (carry & 0xffffffff);
    product[i] = static_cast<std::uint32_t>(sum);
    carry = (a >> 32) + (b >> 32) + (carry >> 32) + (sum >> 32);
  }
  std::uint32_t quadrant = product[0];
  const bool up = (product[1] >> 31) != 0;  // the fraction is in [1/2, 1): fraction - 1
  if (up) ++quadrant;
  Pair fraction{0, 0};
  double weight = 0x1p-32;
  for (int i = 1; i < kWords; ++i) {
    fraction = fraction + Pair{(up ? ~product[i] : product[i]) * weight, 0};
    weight *= 0x1p-32;
  }
  const bool negative = (bits >> 31) != 0;
  const Pair angle = fraction * Pair{tables::kHalfPiHi, tables::kHalfPiLo};
  const Pair signed_angle = up != negative ? -angle : angle;
  return {signed_angle.hi, signed_angle.lo, (negative ? 0 - quadrant : quadrant) & 3};
}

LOCKSTEP_HD_RARE float exp(float x) {
  return to_float(exp(Pair{x, 0}));
}

// x > 0, y = log(x) to 2^-45. One step from there: log(x) = y + log(1 + z), z = x exp(-y) - 1.
LOCKSTEP_HD_RARE float log(float x, double y) {
  const Pair z = Pair{x, 0} * exp(Pair{-y, 0}) + Pair{-1, 0};
  return to_float(Pair{y, 0} + (z + Pair{-0.5 * z.hi * z.hi, 0}));
}

LOCKSTEP_HD_RARE float sin(float x) {
  const Reduced r = reduce(x);
  return to_float(quadrant_sine({r.hi, r.lo}, r.quadrant));
}

LOCKSTEP_HD_RARE float cos(float x) {
  const Reduced r = reduce(x);
  return to_float(quadrant_sine({r.hi, r.lo}, r.quadrant + 1));
}

LOCKSTEP_HD_RARE float tanh(float x) {
  const Pair e = expm1({2.0 * x, 0});
  return to_float(e / (e + Pair{2, 0}));
}

// |x| <= 4. 2/sqrt(pi) exp(-x^2) x sum over n of (2 x^2)^n / (2n+1)!!: no term is negative.
LOCKSTEP_HD_RARE float erf(float x) {
  const Pair square{static_cast<double>(x) * x, 0};  // exact
  const Pair sum = series({x, 0}, square + square, [](int n) { return 2.0 * n + 1; });
  return to_float(Pair{tables::kTwoOverSqrtPiHi, tables::kTwoOverSqrtPiLo} * exp(-square) * sum);
}

}  // namespace lockstep::numerics::slow
LOCKSTEP_FMA_END
