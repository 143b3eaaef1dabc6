// Sums, one float at a time: the definition.
#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/fma_region.h"
#include "numerics/cpu/reduce_kernels.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {
namespace {

void row_sums(std::int64_t rows, std::int64_t cols, const float* x, float* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* row = x + i * cols;
    out[i] = blocked_chain(cols, [row](float acc, std::int64_t j) { return acc + row[j]; });
  }
}

void row_dots(std::int64_t rows, std::int64_t cols, const float* a, const float* b, float* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* p = a + i * cols;
    const float* q = b + i * cols;
    out[i] = blocked_chain(
        cols, [p, q](float acc, std::int64_t j) { return __builtin_fmaf(p[j], q[j], acc); });
  }
}

void row_squares(std::int64_t rows, std::int64_t cols, const float* x, float* out) {
  row_dots(rows, cols, x, x, out);
}

void row_squared_distances(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                           float* out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* p = a + i * cols;
    const float* q = b + i * cols;
    out[i] = blocked_chain(cols, [p, q](float acc, std::int64_t j) {
      const float d = p[j] - q[j];
      return __builtin_fmaf(d, d, acc);
    });
  }
}

void column_sums(std::int64_t rows, std::int64_t width, std::int64_t stride, const float* x,
                 float* out) {
  for (std::int64_t j = 0; j < width; ++j) {
    out[j] =
        blocked_chain(rows, [=](float acc, std::int64_t i) { return acc + x[i * stride + j]; });
  }
}

}  // namespace

constexpr ReduceKernels kReduceScalar = {row_sums, row_squares, row_dots, row_squared_distances,
                                         column_sums};

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
