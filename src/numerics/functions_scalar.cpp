#include <bit>
#include <cstdint>

#include "lockstep/numerics/scalar.h"
#include "numerics/cpu/fma_region.h"
#include "numerics/functions_slow.h"
#include "numerics/functions_tables.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics::scalar {
namespace {

const float kNan = std::bit_cast<float>(0x7fc00000u);
const float kInfinity = std::bit_cast<float>(0x7f800000u);

template <int kCount>
double polynomial(const double (&c)[kCount], double x) {
  double sum = c[kCount - 1];
  for (int i = kCount - 2; i >= 0; --i) sum = __builtin_fma(sum, x, c[i]);
  return sum;
}

// Whether every real number within kError of y rounds to one float; that float.
bool rounds(double y, float* result) {
  const auto low = static_cast<float>(__builtin_fma(y, -tables::kError, y));
  *result = static_cast<float>(__builtin_fma(y, tables::kError, y));
  return low == *result;
}

// exp(x) = 2^k (1 + small)
struct Exp {
  double small, power;
};

Exp exp_parts(double x) {
  const double rounded = __builtin_fma(x, tables::kLog2E, tables::kRoundToInteger);
  const double k = rounded - tables::kRoundToInteger;
  const double r = __builtin_fma(-k, tables::kLn2Hi, x);
  const std::uint64_t exponent =
      (std::bit_cast<std::uint64_t>(rounded) << 52) + std::bit_cast<std::uint64_t>(1.0);
  return {r * polynomial(tables::kExpm1, r), std::bit_cast<double>(exponent)};
}

double log_double(double x) {
  // x = 2^k m, m in [sqrt(1/2), sqrt(2))
  constexpr std::uint64_t kOne = 0x3ff0000000000000, kSqrtHalf = 0x3fe6a09e667f3bcd;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t biased = (bits + (kOne - kSqrtHalf)) >> 52;
  const auto m = std::bit_cast<double>(bits - (biased << 52) + kOne);
  const double k = static_cast<double>(static_cast<std::int64_t>(biased)) - 1023;
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  const double log_m = __builtin_fma(s * z, polynomial(tables::kLog, z), s + s);
  return __builtin_fma(k, tables::kLn2Hi, log_m);
}

slow::Reduced reduce(float x) {
  if (!(__builtin_fabsf(x) <= tables::kCodyWaiteLimit)) return slow::reduce(x);
  const double rounded = __builtin_fma(x, tables::kTwoOverPi, tables::kRoundToInteger);
  const double k = rounded - tables::kRoundToInteger;
  const double r = __builtin_fma(-k, tables::kHalfPiLo, __builtin_fma(-k, tables::kHalfPiHi, x));
  return {r, 0, static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(rounded))};
}

double quadrant_sine(double r, std::uint32_t quadrant) {
  const double z = r * r;
  const double value = (quadrant & 1) != 0 ? __builtin_fma(z, polynomial(tables::kCos, z), 1.0)
                                           : r * __builtin_fma(z, polynomial(tables::kSin, z), 1.0);
  return (quadrant & 2) != 0 ? -value : value;
}

bool is_nan(float x) {
  return x != x;
}

}  // namespace

float exp(float x) {
  if (is_nan(x)) return kNan;
  if (x > 89) return kInfinity;
  if (x < -104) return 0;
  const Exp e = exp_parts(x);
  float result;
  return rounds(__builtin_fma(e.small, e.power, e.power), &result) ? result : slow::exp(x);
}

float log(float x) {
  if (is_nan(x) || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;
  const double y = log_double(x);
  float result;
  return rounds(y, &result) ? result : slow::log(x, y);
}

float sin(float x) {
  if (!(__builtin_fabsf(x) < kInfinity)) return kNan;
  const slow::Reduced r = reduce(x);
  float result;
  return rounds(quadrant_sine(r.hi, r.quadrant), &result) ? result : slow::sin(x);
}

float cos(float x) {
  if (!(__builtin_fabsf(x) < kInfinity)) return kNan;
  const slow::Reduced r = reduce(x);
  float result;
  return rounds(quadrant_sine(r.hi, r.quadrant + 1), &result) ? result : slow::cos(x);
}

// With e = exp(2|x|) - 1: e / (e + 2).
float tanh(float x) {
  if (is_nan(x)) return kNan;
  const float a = __builtin_fabsf(x) < 10 ? __builtin_fabsf(x) : 10;  // tanh(10) rounds to 1
  const Exp parts = exp_parts(2.0 * a);
  const double e = __builtin_fma(parts.small, parts.power, parts.power - 1);
  float result;
  if (!rounds(e / (e + 2), &result)) result = slow::tanh(a);
  return __builtin_copysignf(result, x);
}

float erf(float x) {
  if (is_nan(x)) return kNan;
  const float a = __builtin_fabsf(x) < 4 ? __builtin_fabsf(x) : 4;  // erf(4) rounds to 1
  const double square = static_cast<double>(a) * a;                 // exact
  double y;
  if (a < 1) {
    y = a * polynomial(tables::kErf, square);
  } else {
    const Exp e = exp_parts(-square);
    const double erfcx = polynomial(tables::kErfcx, a - 2.5);
    y = __builtin_fma(-__builtin_fma(e.small, e.power, e.power), erfcx, 1.0);
  }
  float result;
  if (!rounds(y, &result)) result = slow::erf(a);
  return __builtin_copysignf(result, x);
}

float sqrt(float x) {
  return is_nan(x) || x < 0 ? kNan : __builtin_sqrtf(x);
}

}  // namespace lockstep::numerics::scalar
LOCKSTEP_FMA_END
