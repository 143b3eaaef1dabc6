// Sums. Every sum is the blocked chain of gemm.h with + in place of fma: blocks of kBlock elements
// summed in order from +0, block sums added in order. Sums of products use fma. Bits: values,
// shape.
#pragma once

#include <cstdint>
#include <span>

#include "lockstep/numerics/spec/shapes.h"
#include "lockstep/numerics/tree.h"

namespace lockstep::numerics {

class Reductions {
 public:
  virtual void row_sums(std::int64_t rows, std::int64_t cols, const float* x,
                        float* out) = 0;  // sum_j x[i][j]
  virtual void row_dots(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                        float* out) = 0;  // sum_j a[i][j]*b[i][j]
  virtual void row_squared_distances(std::int64_t rows, std::int64_t cols, const float* a,
                                     const float* b,
                                     float* out) = 0;  // d = a-b rounded, chain of fma(d,d,acc)

  // x [n][spatial][c] -> out [n][c], chain over spatial.
  virtual void spatial_sums(std::int64_t n, std::int64_t spatial, std::int64_t c, const float* x,
                            float* out) = 0;

  // Gradients of things shared by all samples (biases): x [samples*rows][cols]; inside a lane one
  // blocked chain over the lane's rows in order, then the tree over each partial's lanes. out:
  // [partials][cols].
  virtual void lane_column_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols,
                                const float* x, float* out) = 0;

  // Sums of squares of tensors, divisible at tiles: out[t] = blocked fma chain over tile t, tensor
  // after tensor, ceil(n / kTileFloats) values of one with n; the tree over all is the squared
  // norm.
  virtual void tile_squares(std::span<const std::span<const float>> tensors, float* out) = 0;

 protected:
  ~Reductions() = default;
};

// Root of the tree over squares of tiles, by the host; 0 of none. Bits: values.
float norm_of(std::span<const float> squares);

}  // namespace lockstep::numerics
