// Private: the functions of scalar.h in about 100 bits, for the few arguments whose binary64 value
// lies too near the middle of two floats. Finite arguments inside the functions' domains only.
#pragma once

#include <cstdint>

namespace lockstep::numerics::slow {

float exp(float x);
float log(float x, double near);  // x > 0; near: log(x) to 2^-45
float sin(float x);
float cos(float x);
float tanh(float x);
float erf(float x);  // |x| <= 4

// x = quadrant * pi/2 + angle, |angle| <= pi/4; angle = hi + lo to 2^-100.
struct Reduced {
  double hi, lo;
  std::uint32_t quadrant;  // modulo 4
};
Reduced reduce(float x);

}  // namespace lockstep::numerics::slow
