// What is written from the functions of functions.h, one value at a time: each operation rounded to
// binary32, no fma (docs/numerics.md, Functions). Every kernel, on every device, must equal these
// bit for bit.
#pragma once

#include "lockstep/numerics/spec/functions.h"

namespace lockstep::numerics::scalar {

LOCKSTEP_HD static inline float negate(float x) {
  return -x;
}
LOCKSTEP_HD static inline float square(float x) {
  return x * x;
}
LOCKSTEP_HD static inline float abs(float x) {
  return spec::abs(x);
}
LOCKSTEP_HD static inline float rsqrt(float x) {
  return 1.0f / sqrt(x);
}

// A NaN stays, -0 becomes +0.
LOCKSTEP_HD static inline float relu(float x) {
  return x > 0.0f || x != x ? x : 0.0f;
}
LOCKSTEP_HD static inline float leaky_relu(float slope, float x) {
  return x > 0.0f ? x : slope * x;
}

// 1 at large x, 0 below -88.7 where exp(-x) overflows.
LOCKSTEP_HD static inline float sigmoid(float x) {
  return 1.0f / (1.0f + exp(-x));
}
LOCKSTEP_HD static inline float silu(float x) {
  return x * sigmoid(x);
}

// log(1 + exp(x)) = max(x, 0) + log1p(e), e = exp(-|x|). Kahan's log1p: the rounding error of 1 + e
// is divided out, so that large negative x keep their digits.
LOCKSTEP_HD static inline float softplus(float x) {
  const float e = exp(x > 0.0f ? -x : x);
  const float u = 1.0f + e;
  const float log1p = u == 1.0f ? e : log(u) * (e / (u - 1.0f));
  return (x > 0.0f ? x : 0.0f) + log1p;
}

// x Phi(x), Phi the normal distribution function
inline constexpr float kSqrtHalf = 0x1.6a09e6p-1f;      // 1/sqrt(2)
inline constexpr float kInvSqrtTwoPi = 0x1.988454p-2f;  // 1/sqrt(2 pi)
LOCKSTEP_HD static inline float gelu(float x) {
  return (0.5f * x) * (1.0f + erf(x * kSqrtHalf));
}

// gelu with the tanh form of Phi (Hendrycks & Gimpel 2016). NaN at -infinity; its derivative from
// |x| = 2^64 on, where x * x overflows.
inline constexpr float kSqrtTwoOverPi = 0x1.988454p-1f;
inline constexpr float kGeluCubic = 0.044715f;
inline constexpr float kGeluCubicTimes3 = 0.134145f;
LOCKSTEP_HD static inline float gelu_tanh_argument(float x) {
  return kSqrtTwoOverPi * (x + kGeluCubic * (x * (x * x)));
}
LOCKSTEP_HD static inline float gelu_tanh(float x) {
  return (0.5f * x) * (1.0f + tanh(gelu_tanh_argument(x)));
}

// Derivatives of the Unary operations (elementwise.h) at x; that of exp is exp, of sin cos, of
// softplus sigmoid.
LOCKSTEP_HD static inline float log_derivative(float x) {
  return 1.0f / x;
}
LOCKSTEP_HD static inline float cos_derivative(float x) {
  return -sin(x);
}
LOCKSTEP_HD static inline float negate_derivative(float) {
  return -1.0f;
}
LOCKSTEP_HD static inline float square_derivative(float x) {
  return x + x;
}
LOCKSTEP_HD static inline float abs_derivative(float x) {
  return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
}
LOCKSTEP_HD static inline float relu_derivative(float x) {
  return x > 0.0f ? 1.0f : 0.0f;
}
LOCKSTEP_HD static inline float leaky_relu_derivative(float slope, float x) {
  return x > 0.0f ? 1.0f : slope;
}
LOCKSTEP_HD static inline float tanh_derivative(float x) {
  const float t = tanh(x);
  return 1.0f - t * t;
}
inline constexpr float kTwoOverSqrtPi = 0x1.20dd76p+0f;  // 2/sqrt(pi)
LOCKSTEP_HD static inline float erf_derivative(float x) {
  return kTwoOverSqrtPi * exp(-(x * x));
}
LOCKSTEP_HD static inline float sqrt_derivative(float x) {
  return 0.5f / sqrt(x);
}
LOCKSTEP_HD static inline float rsqrt_derivative(float x) {
  return (-0.5f / x) / sqrt(x);
}
LOCKSTEP_HD static inline float sigmoid_derivative(float x) {
  const float s = sigmoid(x);
  return s * (1.0f - s);
}
LOCKSTEP_HD static inline float silu_derivative(float x) {
  const float s = sigmoid(x);
  return s * (1.0f + x * (1.0f - s));
}
LOCKSTEP_HD static inline float gelu_derivative(float x) {
  const float phi = kInvSqrtTwoPi * exp(-0.5f * (x * x));
  return 0.5f * (1.0f + erf(x * kSqrtHalf)) + x * phi;
}
LOCKSTEP_HD static inline float gelu_tanh_derivative(float x) {
  const float t = tanh(gelu_tanh_argument(x));
  const float slope = kSqrtTwoOverPi * (1.0f + kGeluCubicTimes3 * (x * x));
  return 0.5f * (1.0f + t) + (0.5f * x) * ((1.0f - t * t) * slope);
}

}  // namespace lockstep::numerics::scalar
