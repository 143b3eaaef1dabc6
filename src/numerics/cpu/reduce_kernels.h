// The kernels behind reduce.h, norm.h and softmax.h that sum: one matrix each, one thread. Tables
// by Isa.
#pragma once

#include <cstdint>

#include "lockstep/numerics/isa.h"

namespace lockstep::numerics {

// Row kernels sum along a row of [rows][cols]; column kernels sum over the rows of columns
// [0, width) of a matrix whose rows are `stride` apart. Every sum is the blocked chain of gemm.h.
struct ReduceKernels {
  void (*row_sums)(std::int64_t rows, std::int64_t cols, const float* x, float* out);
  void (*row_squares)(std::int64_t rows, std::int64_t cols, const float* x, float* out);
  void (*row_dots)(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                   float* out);
  void (*row_squared_distances)(std::int64_t rows, std::int64_t cols, const float* a,
                                const float* b, float* out);
  void (*column_sums)(std::int64_t rows, std::int64_t width, std::int64_t stride, const float* x,
                      float* out);
};

extern const ReduceKernels kReduceScalar;
const ReduceKernels& reduce_kernels(Isa isa);

}  // namespace lockstep::numerics
