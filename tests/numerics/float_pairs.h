// Functions as GPUs compute them: pairs of binary32 first (spec/functions_float.h).
#pragma once

namespace lockstep::numerics::with_pairs {

float exp(float x);
float tanh(float x);

}  // namespace lockstep::numerics::with_pairs
