// Private: the kernels of group and batch normalisation, one sample or lane each, one thread.
#pragma once

#include <cstdint>

#include "lockstep/numerics/isa.h"
#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::numerics {

// Matrices are [rows][c], rows c apart or as far as an argument *_row says; statistics and
// parameters have one value a column. Column sums run over columns [0, width). xhat = (x - mean) *
// rstd.
struct NormKernels {
  // sum of d*d, d = x - mean
  void (*column_squares)(std::int64_t rows, std::int64_t width, std::int64_t x_row, const float* x,
                         const float* mean, float* out);
  // sum of g and of g*xhat
  void (*column_gradient_sums)(std::int64_t rows, std::int64_t width, std::int64_t x_row,
                               const float* x, const float* mean, const float* rstd,
                               std::int64_t g_row, const float* g, float* sum_g, float* sum_g_xhat);
  // y = activation(fma(xhat, gamma, beta))
  void (*normalize)(Activation activation, std::int64_t rows, std::int64_t c, const float* x,
                    const float* mean, const float* rstd, const float* gamma, const float* beta,
                    std::int64_t y_row, float* y);
  // g = dy * silu'(fma(xhat, gamma, beta))
  void (*through_silu)(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                       const float* rstd, const float* gamma, const float* beta,
                       std::int64_t dy_row, const float* dy, float* g);
  // dx = (g*gamma - fma(xhat, q, m)) * rstd; dx may be g
  void (*group_input_gradient)(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                               const float* rstd, const float* gamma, const float* m,
                               const float* q, std::int64_t g_row, const float* g, float* dx);
  // dx = (gamma*rstd) * (g - fma(xhat, q, m))
  void (*batch_input_gradient)(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                               const float* rstd, const float* gamma, const float* m,
                               const float* q, const float* g, float* dx);
};

extern const NormKernels kNormScalar;
const NormKernels& norm_kernels(Isa isa);

}  // namespace lockstep::numerics
