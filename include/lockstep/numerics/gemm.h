// Matrix products. Each output is one blocked chain over k:
//
//   block b: acc = +0; for k in [b*kBlock, min(K, (b+1)*kBlock)): acc = fma(a[i][k], b[k][j], acc)
//   result:  block 0 + block 1 + block 2 …   (added in order, each addition rounded; one block:
//   itself)
//
// SIMD, threads and tiles run over outputs, never over k. K = 0 gives +0. All float, row-major
// unless strides say otherwise, strides in elements. Outputs do not overlap inputs. Bits: operands
// and shape only.
#pragma once

#include <cstdint>

#include "lockstep/numerics/tree.h"

namespace lockstep::numerics {

// Length of a block of every dot product and sum. Part of the specification.
inline constexpr std::int64_t kBlock = 512;

struct Operand {
  const float* data = nullptr;
  std::int64_t row = 0;    // stride between rows (for a: i; for b: k)
  std::int64_t col = 0;    // stride between columns (for a: k; for b: j)
  std::int64_t batch = 0;  // stride between matrices of a batch; 0 repeats one
};

struct Output {
  float* data = nullptr;
  std::int64_t row = 0;  // stride between rows; columns are contiguous
  std::int64_t batch = 0;
};

// c[z][i][j] = chain over k of a[z][i][k] * b[z][k][j], then + bias[j] if bias is given.
// z < batch, i < m, j < n, k < depth.
void gemm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t depth, Operand a,
          Operand b, const float* bias, Output c);

// Weight gradient of y = x w (x [samples*rows][in], dy [samples*rows][out], `rows` a sample):
// inside a lane one blocked chain over the lane's rows in order; then the tree over the lanes of
// each partial. dw: [partials][in][out].
void linear_weight_grad(const LaneBlocks& lanes, std::int64_t rows, std::int64_t in,
                        std::int64_t out, const float* x, const float* dy, float* dw);

}  // namespace lockstep::numerics
