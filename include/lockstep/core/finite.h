// Values that are neither infinite nor no number; <cmath> has no place beside bits.
#pragma once

#include <bit>
#include <cstdint>

namespace lockstep {

inline bool is_finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7f800000U) != 0x7f800000U;
}

}  // namespace lockstep
