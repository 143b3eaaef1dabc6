#define LOCKSTEP_FLOAT_PAIRS 1
#include "numerics/float_pairs.h"

#include "lockstep/numerics/spec/functions.h"
#include "lockstep/numerics/spec/integer.h"

namespace lockstep::numerics::with_pairs {

float exp(float x) {
  return scalar::exp(x);
}

float tanh(float x) {
  return scalar::tanh(x);
}

float product_of(std::int64_t sum, std::int32_t exponent_u, std::int32_t exponent_v) {
  return spec::product_of(sum, exponent_u, exponent_v);
}

}  // namespace lockstep::numerics::with_pairs
