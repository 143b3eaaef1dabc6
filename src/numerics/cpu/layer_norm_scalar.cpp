// Layer normalisation, one float at a time: the definition.
#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/fma_region.h"
#include "numerics/cpu/layer_norm_kernels.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {
namespace {

void forward(std::int64_t rows, std::int64_t c, float eps, const float* x, const float* gamma,
             const float* beta, float* y, float* mean, float* rstd) {
  const auto count = static_cast<float>(c);
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* row = x + i * c;
    const float mu =
        blocked_chain(c, [=](float acc, std::int64_t j) { return acc + row[j]; }) / count;
    const float squares = blocked_chain(c, [=](float acc, std::int64_t j) {
      const float d = row[j] - mu;
      return __builtin_fmaf(d, d, acc);
    });
    mean[i] = mu;
    rstd[i] = 1.0F / __builtin_sqrtf(squares / count + eps);
    for (std::int64_t j = 0; j < c; ++j) {
      const float xhat = (row[j] - mu) * rstd[i];
      y[i * c + j] = gamma == nullptr ? xhat : __builtin_fmaf(xhat, gamma[j], beta[j]);
    }
  }
}

void backward(std::int64_t rows, std::int64_t c, const float* x, const float* gamma,
              const float* mean, const float* rstd, const float* dy, float* dx,
              float* /*scratch*/) {
  const auto count = static_cast<float>(c);
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto xhat = [=](std::int64_t j) { return (x[i * c + j] - mean[i]) * rstd[i]; };
    const auto h = [=](std::int64_t j) {
      return gamma == nullptr ? dy[i * c + j] : dy[i * c + j] * gamma[j];
    };
    const float m = blocked_chain(c, [=](float acc, std::int64_t j) { return acc + h(j); }) / count;
    const float q =
        blocked_chain(
            c, [=](float acc, std::int64_t j) { return __builtin_fmaf(h(j), xhat(j), acc); }) /
        count;
    for (std::int64_t j = 0; j < c; ++j) {
      dx[i * c + j] = (h(j) - __builtin_fmaf(xhat(j), q, m)) * rstd[i];
    }
  }
}

void column_gradient_sums(std::int64_t rows, std::int64_t width, std::int64_t stride,
                          const float* x, const float* mean, const float* rstd, const float* g,
                          float* sum_g, float* sum_g_xhat) {
  for (std::int64_t j = 0; j < width; ++j) {
    sum_g[j] =
        blocked_chain(rows, [=](float acc, std::int64_t i) { return acc + g[i * stride + j]; });
    sum_g_xhat[j] = blocked_chain(rows, [=](float acc, std::int64_t i) {
      const float xhat = (x[i * stride + j] - mean[i]) * rstd[i];
      return __builtin_fmaf(g[i * stride + j], xhat, acc);
    });
  }
}

}  // namespace

constexpr LayerNormKernels kLayerNormScalar = {forward, backward, column_gradient_sums};

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
