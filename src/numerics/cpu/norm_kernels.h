// Private: the kernels of group and batch normalisation, one sample or lane each, one thread.
#pragma once

#include <cstdint>

#include "lockstep/numerics/isa.h"
#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::numerics {

// Matrices are [rows][c]; statistics and parameters have one value a column. Column sums run over
// columns [0, width) of rows `stride` apart. xhat = (x - mean) * rstd.
struct NormKernels {
  // sum of d*d, d = x - mean
  void (*column_squares)(std::int64_t rows, std::int64_t width, std::int64_t stride, const float* x,
                         const float* mean, float* out);
  // sum of g and of g*xhat
  void (*column_gradient_sums)(std::int64_t rows, std::int64_t width, std::int64_t stride,
                               const float* x, const float* mean, const float* rstd, const float* g,
                               float* sum_g, float* sum_g_xhat);
  // y = activation(fma(xhat, gamma, beta))
  void (*normalize)(Activation activation, std::int64_t rows, std::int64_t c, const float* x,
                    const float* mean, const float* rstd, const float* gamma, const float* beta,
                    float* y);
  // g = dy * silu'(fma(xhat, gamma, beta))
  void (*through_silu)(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                       const float* rstd, const float* gamma, const float* beta, const float* dy,
                       float* g);
  // dx = (g*gamma - fma(xhat, q, m)) * rstd; dx may be g
  void (*group_input_gradient)(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                               const float* rstd, const float* gamma, const float* m,
                               const float* q, const float* g, float* dx);
  // dx = (gamma*rstd) * (g - fma(xhat, q, m))
  void (*batch_input_gradient)(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                               const float* rstd, const float* gamma, const float* m,
                               const float* q, const float* g, float* dx);
};

extern const NormKernels kNormScalar;
const NormKernels& norm_kernels(Isa isa);

}  // namespace lockstep::numerics
