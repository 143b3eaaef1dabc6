// Matrix products. Each output is one blocked chain over k:
//
//   block b: acc = +0; for k in [b*kBlock, min(K, (b+1)*kBlock)): acc = fma(a[i][k], b[k][j], acc)
//   result:  block 0 + block 1 + block 2 …, added in order, each addition rounded
//            (one block: itself)
//
// SIMD, threads and tiles run over outputs, never over k. K = 0 gives +0. All float, row-major
// unless strides say otherwise, strides in elements. Outputs do not overlap inputs. Bits: operands
// and shape only.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/shapes.h"
#include "lockstep/numerics/tree.h"

namespace lockstep::numerics {

class Products {
 public:
  // c[z][i][j] = chain over k of a[z][i][k] * b[z][k][j], then + bias[j] if bias is given.
  // z < batch.all(), i < m, j < n, k < depth.
  virtual void gemm(Batch batch, std::int64_t m, std::int64_t n, std::int64_t depth, Operand a,
                    Operand b, const float* bias, Output c) = 0;

  // y [rows][out] = x w (+ bias): x [rows][in], w [in][out].
  virtual void linear(std::int64_t rows, std::int64_t in, std::int64_t out, Sides<const float> x,
                      const float* w, const float* bias, float* y) = 0;

  // Weight gradient of y = x w (x [samples*rows][in], dy [samples*rows][out], `rows` a sample):
  // inside a lane one blocked chain over the lane's rows in order; then the tree over the lanes of
  // each partial. dw: [partials][in][out].
  virtual void linear_weight_grad(const LaneBlocks& lanes, std::int64_t rows, std::int64_t in,
                                  std::int64_t out, const float* x, const float* dy, float* dw) = 0;

 protected:
  ~Products() = default;
};

}  // namespace lockstep::numerics
