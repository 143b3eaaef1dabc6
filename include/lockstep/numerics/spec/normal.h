// Normal random numbers: Box-Muller on the bits of elements 2i and 2i + 1 of a draw (philox.h), all
// in binary32.
#pragma once

#include "lockstep/numerics/spec/functions.h"
#include "lockstep/numerics/spec/philox.h"

namespace lockstep::numerics {

inline constexpr float kTwoPi = 0x1.921fb6p+2f;

// Elements 2i and 2i + 1.
struct Normals {
  float even, odd;
};

LOCKSTEP_HD static inline Normals normals(std::uint32_t even_bits, std::uint32_t odd_bits) {
  const float radius = scalar::sqrt(-2.0f * scalar::log(1.0f - uniform(even_bits)));
  const float angle = uniform(odd_bits) * kTwoPi;
  return {radius * scalar::cos(angle), radius * scalar::sin(angle)};
}

}  // namespace lockstep::numerics
