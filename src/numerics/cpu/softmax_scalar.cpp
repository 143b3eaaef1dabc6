// Softmax, one float at a time: the definition.
#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/fma_region.h"
#include "lockstep/numerics/spec/functions.h"
#include "numerics/cpu/softmax_kernels.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {
namespace {

void forward(std::int64_t rows, std::int64_t cols, float scale, const float* x, float* y,
             float* /*scratch*/) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* row = x + i * cols;
    float* e = y + i * cols;
    float max = -__builtin_inff();
    for (std::int64_t j = 0; j < cols; ++j) {
      if (scale * row[j] > max) max = scale * row[j];
    }
    for (std::int64_t j = 0; j < cols; ++j) e[j] = scalar::exp(scale * row[j] - max);
    const float sum = blocked_chain(cols, [=](float acc, std::int64_t j) { return acc + e[j]; });
    for (std::int64_t j = 0; j < cols; ++j) e[j] = e[j] / sum;
  }
}

void backward(std::int64_t rows, std::int64_t cols, float scale, const float* y, const float* dy,
              float* dx, float* /*scratch*/) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* p = y + i * cols;
    const float* g = dy + i * cols;
    const float d = blocked_chain(
        cols, [=](float acc, std::int64_t j) { return __builtin_fmaf(p[j], g[j], acc); });
    for (std::int64_t j = 0; j < cols; ++j) dx[i * cols + j] = scale * (p[j] * (g[j] - d));
  }
}

}  // namespace

constexpr SoftmaxKernels kSoftmaxScalar = {forward, backward};

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
