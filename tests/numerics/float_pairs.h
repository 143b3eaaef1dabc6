// Functions as GPUs compute them: pairs of binary32 first (spec/functions_float.h).
#pragma once

#include <cstdint>

namespace lockstep::numerics::with_pairs {

float exp(float x);
float tanh(float x);
// spec::product_of
float product_of(std::int64_t sum, std::int32_t exponent_u, std::int32_t exponent_v);

}  // namespace lockstep::numerics::with_pairs
