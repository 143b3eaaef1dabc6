// Group and batch normalisation, one float at a time: the definition.
#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/fma_region.h"
#include "lockstep/numerics/spec/scalar.h"
#include "numerics/cpu/norm_kernels.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {

namespace {

void column_squares(std::int64_t rows, std::int64_t width, std::int64_t x_row, const float* x,
                    const float* mean, float* out) {
  for (std::int64_t j = 0; j < width; ++j) {
    out[j] = blocked_chain(rows, [=](float acc, std::int64_t i) {
      const float d = x[i * x_row + j] - mean[j];
      return __builtin_fmaf(d, d, acc);
    });
  }
}

void column_gradient_sums(std::int64_t rows, std::int64_t width, std::int64_t x_row, const float* x,
                          const float* mean, const float* rstd, std::int64_t g_row, const float* g,
                          float* sum_g, float* sum_g_xhat) {
  for (std::int64_t j = 0; j < width; ++j) {
    sum_g[j] =
        blocked_chain(rows, [=](float acc, std::int64_t i) { return acc + g[i * g_row + j]; });
    sum_g_xhat[j] = blocked_chain(rows, [=](float acc, std::int64_t i) {
      const float xhat = (x[i * x_row + j] - mean[j]) * rstd[j];
      return __builtin_fmaf(g[i * g_row + j], xhat, acc);
    });
  }
}

void normalize(Activation activation, std::int64_t rows, std::int64_t c, const float* x,
               const float* mean, const float* rstd, const float* gamma, const float* beta,
               std::int64_t y_row, float* y) {
  for (std::int64_t i = 0; i < rows * c; ++i) {
    const std::int64_t j = i % c;
    const float xhat = (x[i] - mean[j]) * rstd[j];
    const float z = __builtin_fmaf(xhat, gamma[j], beta[j]);
    y[i / c * y_row + j] = activation == Activation::kSilu ? scalar::silu(z) : z;
  }
}

void through_silu(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                  const float* rstd, const float* gamma, const float* beta, std::int64_t dy_row,
                  const float* dy, float* g) {
  for (std::int64_t i = 0; i < rows * c; ++i) {
    const std::int64_t j = i % c;
    const float xhat = (x[i] - mean[j]) * rstd[j];
    g[i] =
        dy[i / c * dy_row + j] * scalar::silu_derivative(__builtin_fmaf(xhat, gamma[j], beta[j]));
  }
}

void group_input_gradient(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                          const float* rstd, const float* gamma, const float* m, const float* q,
                          std::int64_t g_row, const float* g, float* dx) {
  for (std::int64_t i = 0; i < rows * c; ++i) {
    const std::int64_t j = i % c;
    const float xhat = (x[i] - mean[j]) * rstd[j];
    dx[i] = (g[i / c * g_row + j] * gamma[j] - __builtin_fmaf(xhat, q[j], m[j])) * rstd[j];
  }
}

void batch_input_gradient(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                          const float* rstd, const float* gamma, const float* m, const float* q,
                          const float* g, float* dx) {
  for (std::int64_t i = 0; i < rows * c; ++i) {
    const std::int64_t j = i % c;
    const float xhat = (x[i] - mean[j]) * rstd[j];
    dx[i] = gamma[j] * rstd[j] * (g[i] - __builtin_fmaf(xhat, q[j], m[j]));
  }
}

}  // namespace

constexpr NormKernels kNormScalar = {column_squares, column_gradient_sums, normalize,
                                     through_silu,   group_input_gradient, batch_input_gradient};

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
