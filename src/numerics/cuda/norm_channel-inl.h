// Private: what the values of a norm's channel have in common, for CUDA.
#pragma once

#include "lockstep/numerics/spec/operations.h"
#include "lockstep/numerics/spec/scalar.h"
#include "numerics/cuda/columns.h"

namespace lockstep::numerics::cuda {

struct NormOfChannel {
  float mean, rstd, gamma, beta;
  bool activated;

  LOCKSTEP_DEVICE float xhat(float x) const { return (x - mean) * rstd; }
  LOCKSTEP_DEVICE float y(float x) const {
    const float z = spec::fma(xhat(x), gamma, beta);
    return activated ? scalar::silu(z) : z;
  }
  // dy behind the activation.
  LOCKSTEP_DEVICE float g(float xhat, float dy) const {
    return activated ? dy * scalar::silu_derivative(spec::fma(xhat, gamma, beta)) : dy;
  }
  // Group norm's, with its m and q.
  LOCKSTEP_DEVICE float dx(float xhat, float g, float m, float q) const {
    return (g * gamma - spec::fma(xhat, q, m)) * rstd;
  }
};

struct NormalisedChannel {
  Column<const float> x;
  Column<float> y;
  NormOfChannel norm;

  LOCKSTEP_DEVICE float read(std::int64_t p) const { return x(p); }
  LOCKSTEP_DEVICE void write(std::int64_t p, float value) const { y(p) = norm.y(value); }
};

struct XAndG {
  float x, g;
};

}  // namespace lockstep::numerics::cuda
