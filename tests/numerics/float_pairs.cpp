#define LOCKSTEP_FLOAT_PAIRS 1
#include "numerics/float_pairs.h"

#include "lockstep/numerics/spec/functions.h"

namespace lockstep::numerics::with_pairs {

float exp(float x) {
  return scalar::exp(x);
}

float tanh(float x) {
  return scalar::tanh(x);
}

}  // namespace lockstep::numerics::with_pairs
