// What integer products are made of, one value at a time (docs/numerics.md, Integer products). For
// every device.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/operations.h"
#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::numerics {

// Values as integers, in groups that share an exponent.
struct Rounded {
  const std::int16_t* q = nullptr;          // as the device keeps them (plain_integers)
  const std::int32_t* exponents = nullptr;  // E of each group
};

// A layer's products are integer if it is as wide as this and has as many positions a sample.
inline constexpr std::int64_t kLeastChannels = 8, kLeastPositions = 8;

LOCKSTEP_HD static inline bool integer_products(const ConvShape& s) {
  return s.in >= kLeastChannels && s.out >= kLeastChannels &&
         s.out_h() * s.out_w() >= kLeastPositions;
}

namespace spec {

inline constexpr std::int32_t kLargestQ = 2047;      // |q| is no larger
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

// What a sum of products is multiplied with, 2^e with e = E_u + E_v - 20, and whether both groups
// are finite.
struct Scale {
  std::int32_t e;
  bool finite;
};

LOCKSTEP_HD static inline Scale scale_of(std::int32_t exponent_u, std::int32_t exponent_v) {
  return {exponent_u + exponent_v - 20, exponent_u != kNotFinite && exponent_v != kNotFinite};
}

// S * 2^e as binary32: the one rounding. |S| < 2^53.
LOCKSTEP_HD static inline float scaled(std::int64_t sum, const Scale& by) {
  return by.finite ? static_cast<float>(static_cast<double>(sum) * power_of_two(by.e))
                   : bit_cast<float>(0x7fc00000U);
}

LOCKSTEP_HD static inline float product_of(std::int64_t sum, std::int32_t exponent_u,
                                           std::int32_t exponent_v) {
  return scaled(sum, scale_of(exponent_u, exponent_v));
}

// The same without binary64, where 2^e is normal, so that scaling rounds nothing: of 32 bits, or
// |S| < 2^47, which the sum of kQuickProducts is.
inline constexpr std::int64_t kQuickProducts = std::int64_t{1} << 25;

LOCKSTEP_HD static inline bool quick(const Scale& by) {
  return by.e >= -126 && by.e <= 127;
}
LOCKSTEP_HD static inline float times_power(float sum, const Scale& by) {
  return by.finite ? sum * bit_cast<float>(static_cast<std::uint32_t>(by.e + 127) << 23)
                   : bit_cast<float>(0x7fc00000U);
}
LOCKSTEP_HD static inline float quickly_scaled(std::int32_t sum, const Scale& by) {
  return times_power(static_cast<float>(sum), by);
}
LOCKSTEP_HD static inline float quickly_scaled(std::int64_t sum, const Scale& by) {
  const auto high = static_cast<float>(static_cast<std::int32_t>(sum >> 24));      // exact
  const auto low = static_cast<float>(static_cast<std::int32_t>(sum & 0xffffff));  // exact
  return times_power(fma(high, 0x1p24f, low), by);
}

}  // namespace spec
}  // namespace lockstep::numerics
