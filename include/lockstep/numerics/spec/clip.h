// Clipping by the global norm of gradients (Pascanu, Mikolov and Bengio 2013).
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/operations.h"
#include "lockstep/numerics/spec/tree.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics::spec {

// Root of the tree over squares of tiles; 0 of none.
LOCKSTEP_HD static inline float norm_of(std::int64_t count, const float* squares) {
  if (count == 0) return 0;
  return sqrt(tree_fold(
      0, count, [squares](std::int64_t i) { return squares[i]; },
      [](float a, float b) { return a + b; }));
}

// What gradients of this norm are multiplied by; kKept: nothing. A norm that overflowed must not
// turn finite gradients into silent zeros: left alone, they reach the state, where training stops
// on what is not finite.
inline constexpr float kKept = -1;
LOCKSTEP_HD static inline float clip_factor(float limit, float norm) {
  constexpr float kInfinity = bit_cast<float>(0x7f800000u);
  return norm > limit && norm < kInfinity ? limit / norm : kKept;
}

}  // namespace lockstep::numerics::spec
LOCKSTEP_FMA_END
