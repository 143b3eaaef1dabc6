// Private: the one SIMD kernel behind matrix products and convolutions. It computes a tile of
// outputs held in registers: rows are broadcast, columns are vector lanes, k runs in order.
//
//   acc[r][j] = +0; for k < depth: acc[r][j] = fma(a[r][a_offset[k]], b(k)[j], acc[r][j])
//   c[r][j]   = acc, or c + acc;  then + bias[j]
//
// The table of offsets makes it serve everything: k is a column of a matrix, a tap and channel of a
// convolution, or a pixel of a weight gradient. It is read once for `rows` broadcasts.
#pragma once

#include <cstdint>

#include "lockstep/numerics/isa.h"

namespace lockstep::numerics {

struct RegisterTile {
  const float* const* a = nullptr;         // [rows]
  const std::int64_t* a_offset = nullptr;  // [depth]
  const float* b = nullptr;                // without b_offset: packed, see PackedColumns
  const std::int64_t* b_offset = nullptr;  // [depth], or null; whole vectors are read at each
  std::int64_t depth = 0;                  // at most kBlock: one block
  float* const* c = nullptr;               // [rows]
  int rows = 0, columns = 0;               // see TileKernels
  bool add = false;                        // c holds the sum of the blocks before this one
  const float* bias = nullptr;             // [columns], or null
};

struct TileKernels {
  int rows = 0;   // of the largest tile
  int lanes = 0;  // floats a vector
  void (*tile)(const RegisterTile& tile) = nullptr;
  // to[j*to_row + i] = from[i*from_row + j], i < rows, j < columns.
  void (*transpose)(std::int64_t rows, std::int64_t columns, const float* from,
                    std::int64_t from_row, float* to, std::int64_t to_row) = nullptr;

  int columns() const { return 2 * lanes; }
  // Without packing, tiles of few rows may be wider: enough chains to hide the latency of an FMA.
  // 8, 4, 2 or 1 vectors are read, whatever holds the columns.
  int wide_columns(std::int64_t r) const { return lanes * (r == 1 ? 8 : r <= 3 ? 4 : 2); }
};

constexpr int kMaxTileRows = 16;

// isa is not kScalar: that one has its own plain code (gemm_scalar.cpp, conv_scalar.cpp).
const TileKernels& tile_kernels(Isa isa);

}  // namespace lockstep::numerics
