// exp and tanh in pairs of binary32: first try of devices that have little binary64 (GPUs for
// graphics and inference: 1/64 of binary32's rate). Right to 2^-39 relative, so all but one result
// in 100,000 is decided; functions.h decides the others. Results are correctly rounded either way,
// so no bit depends on who tries.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/operations.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics::quick {

// hi + lo, |lo| a few ulps of hi at most.
struct Pair {
  float hi, lo;
};

// Bound on the relative error of what is rounded below, over twice what is reached.
inline constexpr float kError = 0x1p-39f;

inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kRoundToInteger = 0x1.8p23f;
// ln 2 in three parts; the products of the first two with an integer below 2^7 are exact.
inline constexpr float kLn2Hi = 0x1.62e4p-1f, kLn2Mid = 0x1.7f7dp-20f, kLn2Lo = 0x1.cf79acp-40f;

// Whether every real number within kError of y rounds to one float; that float.
LOCKSTEP_HD static inline bool rounds(Pair y, float* result) {
  const float low = y.hi + spec::fma(y.hi, -kError, y.lo);
  *result = y.hi + spec::fma(y.hi, kError, y.lo);
  return low == *result;
}

// For |a| >= |b|, or where their exponents say that it is exact.
LOCKSTEP_HD static inline Pair fast_two_sum(float a, float b) {
  const float sum = a + b;
  return {sum, b - (sum - a)};
}

// s * r + (hi + lo), |s * r| <= hi / 2
LOCKSTEP_HD static inline Pair multiply_add(Pair s, Pair r, float hi, float lo) {
  const float sum = spec::fma(s.hi, r.hi, hi);
  const float rest = spec::fma(s.hi, r.hi, hi - sum);
  return {sum, spec::fma(s.hi, r.lo, spec::fma(s.lo, r.hi, rest)) + lo};
}

// exp(x) = power * (1 + r * slope), |r| <= ln 2 / 2
struct Exp {
  Pair r, slope;
  float power;
};

// |x| <= 88. The slope is the series 1 + r/2! + r^2/3! + …, pairs from r^4/5! on.
LOCKSTEP_HD static inline Exp exp_parts(float x) {
  const float rounded = spec::fma(x, kLog2E, kRoundToInteger);
  const float k = rounded - kRoundToInteger;
  const float high = spec::fma(-k, kLn2Hi, x);  // exact
  const float hi = spec::fma(-k, kLn2Mid, high);
  const Pair r{hi, spec::fma(-k, kLn2Lo, spec::fma(-k, kLn2Mid, high - hi))};

  float tail = 0x1.27e4fcp-22f;  // 1/10!
  tail = spec::fma(tail, r.hi, 0x1.71de3ap-19f);
  tail = spec::fma(tail, r.hi, 0x1.a01a02p-16f);
  tail = spec::fma(tail, r.hi, 0x1.a01a02p-13f);
  tail = spec::fma(tail, r.hi, 0x1.6c16c2p-10f);
  Pair slope = multiply_add({tail, 0}, r, 0x1.111112p-7f, -0x1.dddddep-32f);
  slope = multiply_add(slope, r, 0x1.555556p-5f, -0x1.555556p-30f);
  slope = multiply_add(slope, r, 0x1.555556p-3f, -0x1.555556p-28f);
  slope = multiply_add(slope, r, 0.5f, 0);
  slope = multiply_add(slope, r, 1, 0);
  const std::uint32_t exponent =
      (spec::bit_cast<std::uint32_t>(rounded) << 23) + spec::bit_cast<std::uint32_t>(1.0f);
  return {r, slope, spec::bit_cast<float>(exponent)};
}

// Whether exp(x) is decided, and its value. Only where it is far from subnormal and from infinity.
LOCKSTEP_HD static inline bool exp(float x, float* result) {
  if (!(x >= -87 && x <= 88)) return false;
  const Exp e = exp_parts(x);
  if (!rounds(multiply_add(e.slope, e.r, 1, 0), result)) return false;
  *result *= e.power;
  return true;
}

// Whether tanh(a) is decided, and its value; 0 <= a <= 10. With e = exp(2a) - 1: e / (e + 2).
LOCKSTEP_HD static inline bool tanh(float a, float* result) {
  const Exp parts = exp_parts(2 * a);
  // power * r * slope, of either sign, at most half of power
  const float product = parts.r.hi * parts.slope.hi;
  const float rest = spec::fma(
      parts.r.hi, parts.slope.lo,
      spec::fma(parts.r.lo, parts.slope.hi, spec::fma(parts.r.hi, parts.slope.hi, -product)));
  const float hi = product * parts.power, lo = rest * parts.power;
  const Pair below = fast_two_sum(parts.power, -1), above = fast_two_sum(parts.power, 1);
  // Without a power the sum is hi alone; with one, power - 1 is the larger part.
  const Pair e = fast_two_sum(below.hi, hi), d = fast_two_sum(above.hi, hi);
  const float e_lo = e.lo + (lo + below.lo), d_lo = d.lo + (lo + above.lo);
  const float quotient = e.hi / d.hi;
  const float left = spec::fma(-quotient, d.hi, e.hi) + spec::fma(-quotient, d_lo, e_lo);
  return rounds(fast_two_sum(quotient, left / d.hi), result);
}

}  // namespace lockstep::numerics::quick
LOCKSTEP_FMA_END
