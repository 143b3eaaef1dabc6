// What integer products are made of, one value at a time (docs/numerics.md, Integer products). For
// every device.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/operations.h"
#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::numerics {

// Values as integers, in groups that share an exponent.
struct Rounded {
  const std::int16_t* q = nullptr;          // |q| <= kLargestQ
  const std::int32_t* exponents = nullptr;  // E of each group
};

// A layer's products are integer if it is as wide as this and has as many positions a sample.
inline constexpr std::int64_t kLeastChannels = 8, kLeastPositions = 8;

LOCKSTEP_HD static inline bool integer_products(const ConvShape& s) {
  return s.in >= kLeastChannels && s.out >= kLeastChannels &&
         s.out_h() * s.out_w() >= kLeastPositions;
}

namespace spec {

inline constexpr std::int32_t kLargestQ = 2047;
inline constexpr std::int32_t kNotFinite = 128;      // the exponent of a group with NaN or infinity
inline constexpr std::int64_t kExactProducts = 512;  // whose sum fits 32 bits

// The bits of |x|, whose largest makes a group's exponent.
LOCKSTEP_HD static inline std::uint32_t magnitude(float x) {
  return bit_cast<std::uint32_t>(x) & 0x7fffffffU;
}

LOCKSTEP_HD static inline std::int32_t exponent_of(std::uint32_t largest_magnitude) {
  const auto biased = static_cast<std::int32_t>(largest_magnitude >> 23);
  return (biased > 11 ? biased : 11) - 127;
}

// 2^(10 - E), E < 128: a normal binary32 value.
LOCKSTEP_HD static inline float rounding_factor(std::int32_t exponent) {
  return bit_cast<float>(static_cast<std::uint32_t>(137 - exponent) << 23);
}

// x must not be larger than its group's largest value, and finite.
LOCKSTEP_HD static inline std::int16_t rounded(float x, float factor) {
  const float kRound = 0x1.8p23f;  // has no place for a fraction
  const float nearest = (x * factor + kRound) - kRound;
  const float most = static_cast<float>(kLargestQ);
  return static_cast<std::int16_t>(nearest > most ? most : nearest < -most ? -most : nearest);
}

// 2^e as binary64, -1022 <= e <= 1023.
LOCKSTEP_HD static inline double power_of_two(std::int32_t e) {
  return bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

// S * 2^e as binary32, without binary64. Whether it can be: |S| < 2^47, and 2^e is normal, so that
// scaling rounds nothing.
LOCKSTEP_HD static inline bool quick_product(std::int64_t sum, std::int32_t e, float* result) {
  constexpr std::int64_t kMost = std::int64_t{1} << 47;
  if (sum <= -kMost || sum >= kMost || e < -126 || e > 127) return false;
  const auto high = static_cast<float>(static_cast<std::int32_t>(sum >> 24));      // exact
  const auto low = static_cast<float>(static_cast<std::int32_t>(sum & 0xffffff));  // exact
  *result = fma(high, 0x1p24f, low) * bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23);
  return true;
}

// S * 2^(E_u + E_v - 20) as binary32: the one rounding. |S| < 2^53.
LOCKSTEP_HD static inline float product_of(std::int64_t sum, std::int32_t exponent_u,
                                           std::int32_t exponent_v) {
  if (exponent_u == kNotFinite || exponent_v == kNotFinite) return bit_cast<float>(0x7fc00000U);
  const std::int32_t e = exponent_u + exponent_v - 20;
  float result;
  if (LOCKSTEP_FLOAT_PAIRS && quick_product(sum, e, &result)) return result;
  return static_cast<float>(static_cast<double>(sum) * power_of_two(e));
}

}  // namespace spec
}  // namespace lockstep::numerics
