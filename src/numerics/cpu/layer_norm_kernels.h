// Private: the kernels of layer normalisation, on a few rows, one thread.
#pragma once

#include <cstdint>

#include "lockstep/numerics/isa.h"

namespace lockstep::numerics {

// Matrices are [rows][c]. gamma and beta may be null (together).
struct LayerNormKernels {
  void (*forward)(std::int64_t rows, std::int64_t c, float eps, const float* x, const float* gamma,
                  const float* beta, float* y, float* mean, float* rstd);
  // scratch: rows * (c + 2) floats
  void (*backward)(std::int64_t rows, std::int64_t c, const float* x, const float* gamma,
                   const float* mean, const float* rstd, const float* dy, float* dx,
                   float* scratch);
  // Over the rows, for columns [0, width) of rows `stride` apart: sum of g and of g*xhat.
  void (*column_gradient_sums)(std::int64_t rows, std::int64_t width, std::int64_t stride,
                               const float* x, const float* mean, const float* rstd, const float* g,
                               float* sum_g, float* sum_g_xhat);
};

extern const LayerNormKernels kLayerNormScalar;
const LayerNormKernels& layer_norm_kernels(Isa isa);

}  // namespace lockstep::numerics
