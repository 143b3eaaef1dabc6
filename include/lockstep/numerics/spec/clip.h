// Clipping by the global norm of gradients (Pascanu, Mikolov and Bengio 2013).
#pragma once

#include "lockstep/numerics/spec/operations.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics::spec {

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
