// exp, log, sin, cos, tanh, erf, correctly rounded: the float nearest the exact value, ties to
// even, for every input; sqrt is IEEE's. NaN results are the one quiet NaN 0x7fc00000. Only + - * /
// sqrt fma of binary64, in the order written (operations.h). Where LOCKSTEP_FLOAT_PAIRS is 1, exp
// and tanh first try pairs of binary32 (functions_float.h).
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/functions_float.h"
#include "lockstep/numerics/spec/functions_slow.h"
#include "lockstep/numerics/spec/operations.h"
#include "lockstep/numerics/spec/tables.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics::fast {  // binary64, right to 2^-46 relative

// Whether every real number within kError of y rounds to one float; that float.
LOCKSTEP_HD static inline bool rounds(double y, float* result) {
  const auto low = static_cast<float>(spec::fma(y, -tables::kError, y));
  *result = static_cast<float>(spec::fma(y, tables::kError, y));
  return low == *result;
}

// exp(x) = 2^k (1 + small)
struct Exp {
  double small, power;
};

LOCKSTEP_HD static inline Exp exp_parts(double x) {
  const double rounded = spec::fma(x, tables::kLog2E, tables::kRoundToInteger);
  const double k = rounded - tables::kRoundToInteger;
  const double r = spec::fma(-k, tables::kLn2Hi, x);
  const std::uint64_t exponent =
      (spec::bit_cast<std::uint64_t>(rounded) << 52) + spec::bit_cast<std::uint64_t>(1.0);
  return {r * spec::polynomial(tables::expm1(), r), spec::bit_cast<double>(exponent)};
}

LOCKSTEP_HD static inline double log(double x) {
  // x = 2^k m, m in [sqrt(1/2), sqrt(2))
  constexpr std::uint64_t kOne = 0x3ff0000000000000, kSqrtHalf = 0x3fe6a09e667f3bcd;
  const auto bits = spec::bit_cast<std::uint64_t>(x);
  const std::uint64_t biased = (bits + (kOne - kSqrtHalf)) >> 52;
  const auto m = spec::bit_cast<double>(bits - (biased << 52) + kOne);
  const double k = static_cast<double>(static_cast<std::int64_t>(biased)) - 1023;
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  const double log_m = spec::fma(s * z, spec::polynomial(tables::log(), z), s + s);
  return spec::fma(k, tables::kLn2Hi, log_m);
}

LOCKSTEP_HD static inline slow::Reduced reduce(float x) {
  if (!(spec::abs(x) <= tables::kCodyWaiteLimit)) return slow::reduce(x);
  const double wide = x;
  const double rounded = spec::fma(wide, tables::kTwoOverPi, tables::kRoundToInteger);
  const double k = rounded - tables::kRoundToInteger;
  const double r = spec::fma(-k, tables::kHalfPiLo, spec::fma(-k, tables::kHalfPiHi, wide));
  return {r, 0, static_cast<std::uint32_t>(spec::bit_cast<std::uint64_t>(rounded))};
}

LOCKSTEP_HD static inline double quadrant_sine(double r, std::uint32_t quadrant) {
  const double z = r * r;
  const double value = (quadrant & 1) != 0
                           ? spec::fma(z, spec::polynomial(tables::cos(), z), 1.0)
                           : r * spec::fma(z, spec::polynomial(tables::sin(), z), 1.0);
  return (quadrant & 2) != 0 ? -value : value;
}

}  // namespace lockstep::numerics::fast

namespace lockstep::numerics::scalar {

inline constexpr float kNan = spec::bit_cast<float>(0x7fc00000u);
inline constexpr float kInfinity = spec::bit_cast<float>(0x7f800000u);

LOCKSTEP_HD static inline bool is_nan(float x) {
  return x != x;
}

LOCKSTEP_HD static inline float exp(float x) {
  float result;
  if (LOCKSTEP_FLOAT_PAIRS && quick::exp(x, &result)) return result;
  if (is_nan(x)) return kNan;
  if (x > 89) return kInfinity;
  if (x < -104) return 0;
  const fast::Exp e = fast::exp_parts(x);
  return fast::rounds(spec::fma(e.small, e.power, e.power), &result) ? result : slow::exp(x);
}

LOCKSTEP_HD static inline float log(float x) {
  if (is_nan(x) || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;
  const double y = fast::log(x);
  float result;
  return fast::rounds(y, &result) ? result : slow::log(x, y);
}

LOCKSTEP_HD static inline float sin(float x) {
  if (!(spec::abs(x) < kInfinity)) return kNan;
  const slow::Reduced r = fast::reduce(x);
  float result;
  return fast::rounds(fast::quadrant_sine(r.hi, r.quadrant), &result) ? result : slow::sin(x);
}

LOCKSTEP_HD static inline float cos(float x) {
  if (!(spec::abs(x) < kInfinity)) return kNan;
  const slow::Reduced r = fast::reduce(x);
  float result;
  return fast::rounds(fast::quadrant_sine(r.hi, r.quadrant + 1), &result) ? result : slow::cos(x);
}

// With e = exp(2|x|) - 1: e / (e + 2).
LOCKSTEP_HD static inline float tanh(float x) {
  if (is_nan(x)) return kNan;
  const float a = spec::abs(x) < 10 ? spec::abs(x) : 10;  // tanh(10) rounds to 1
  float result;
  if (LOCKSTEP_FLOAT_PAIRS && quick::tanh(a, &result)) return spec::copy_sign(result, x);
  const fast::Exp parts = fast::exp_parts(2.0 * a);
  const double e = spec::fma(parts.small, parts.power, parts.power - 1);
  if (!fast::rounds(e / (e + 2), &result)) result = slow::tanh(a);
  return spec::copy_sign(result, x);
}

LOCKSTEP_HD static inline float erf(float x) {
  if (is_nan(x)) return kNan;
  const float a = spec::abs(x) < 4 ? spec::abs(x) : 4;  // erf(4) rounds to 1
  const double square = static_cast<double>(a) * a;     // exact
  double y;
  if (a < 1) {
    y = a * spec::polynomial(tables::erf(), square);
  } else {
    const fast::Exp e = fast::exp_parts(-square);
    const double erfcx = spec::polynomial(tables::erfcx(), a - 2.5);
    y = spec::fma(-spec::fma(e.small, e.power, e.power), erfcx, 1.0);
  }
  float result;
  if (!fast::rounds(y, &result)) result = slow::erf(a);
  return spec::copy_sign(result, x);
}

LOCKSTEP_HD static inline float sqrt(float x) {
  return is_nan(x) || x < 0 ? kNan : spec::sqrt(x);
}

}  // namespace lockstep::numerics::scalar
LOCKSTEP_FMA_END
