// Sums. Every sum is the blocked chain of gemm.h with + in place of fma: blocks of kBlock elements
// summed in order from +0, block sums added in order. Sums of products use fma. Bits: values,
// shape.
#pragma once

#include <cstdint>

#include "lockstep/numerics/tree.h"

namespace lockstep::numerics {

inline constexpr std::int64_t kTileFloats = 4096;  // a tile: 16 KiB of one tensor

void row_sums(std::int64_t rows, std::int64_t cols, const float* x, float* out);  // sum_j x[i][j]
void row_dots(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
              float* out);  // sum_j a[i][j]*b[i][j]
void row_squared_distances(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                           float* out);  // d = a-b rounded, chain of fma(d,d,acc)

// x [n][spatial][c] -> out [n][c], chain over spatial.
void spatial_sums(std::int64_t n, std::int64_t spatial, std::int64_t c, const float* x, float* out);

// Gradients of things shared by all samples (biases): x [samples*rows][cols]; inside a lane one
// blocked chain over the lane's rows in order, then the tree over each partial's lanes. out:
// [partials][cols].
void lane_column_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols, const float* x,
                      float* out);
// The same of a[i][j]*b[i][j] (fma chain).
void lane_column_dots(const LaneBlocks& lanes, std::int64_t rows, std::int64_t cols, const float* a,
                      const float* b, float* out);

// Sum of squares of one tensor, divisible at tiles: out[t] = blocked fma chain over tile t.
// ceil(n / kTileFloats) values; the tree over them (of all tensors in order) is the squared norm.
void tile_squares(std::int64_t n, const float* x, float* out);

}  // namespace lockstep::numerics
