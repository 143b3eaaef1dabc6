// Private: the layout in which the tile of integer products reads its columns.
#pragma once

#include <cstdint>

#include "numerics/cpu/integer_tile.h"
#include "numerics/cpu/packed.h"

namespace lockstep::numerics {

// [pairs][columns][2] as panels of kernels.columns() columns, each [pairs][width][2]; the last
// panel is as wide as the vectors that it needs, filled up with zeros (their results are dropped).
class PackedPairs {
 public:
  PackedPairs(const IntegerKernels& kernels, std::int64_t pairs, std::int64_t columns);

  // Pair number `pair`: of column j first[j] and second[j]; without `second`, 0.
  void fill(std::int64_t pair, const std::int16_t* first, const std::int16_t* second);
  // Pairs [pair, pair + (count+1)/2): of column j the integers from[j*stride + k], k < count, two
  // by two; an odd last one with 0.
  void fill_transposed(std::int64_t pair, std::int64_t count, const std::int16_t* from,
                       std::int64_t stride);

  // Whether no product with it can leave 32 bits: so it is for short sums, and for most long ones,
  // whose largest integers are few. To be asked once, when all is filled.
  bool fits() const;

  std::int64_t pairs() const { return pairs_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t panels() const { return (columns_ + kernels_.columns() - 1) / kernels_.columns(); }
  std::int64_t first_column(std::int64_t panel) const { return panel * kernels_.columns(); }
  std::int64_t columns_of(std::int64_t panel) const;
  const std::int16_t* row(std::int64_t panel, std::int64_t pair) const {
    return const_cast<PackedPairs*>(this)->place(panel, pair);
  }

 private:
  std::int64_t width(std::int64_t panel) const {
    return columns_of(panel) > kernels_.lanes ? kernels_.columns() : kernels_.lanes;
  }
  std::int16_t* place(std::int64_t panel, std::int64_t pair);
  void clear_rest(std::int64_t pair);

  const IntegerKernels& kernels_;
  std::int64_t pairs_, columns_;
  Scratch data_;  // a pair in the place of a float
};

// Rows of outputs, each a sum over packed.pairs(): see IntegerTile.
struct IntegerSweep {
  const IntegerKernels* kernels = nullptr;
  const std::int16_t* const* a = nullptr;  // [rows]
  float* const* c = nullptr;               // [rows]
  std::int64_t rows = 0;
  const std::int64_t* a_offset = nullptr;  // [packed->pairs()]
  const PackedPairs* packed = nullptr;
  bool fits = false;                            // packed->fits()
  std::int32_t exponent_u = 0, exponent_v = 0;  // of the operands' groups
  const float* bias = nullptr;
};
void sweep_integer_tiles(const IntegerSweep& s);

}  // namespace lockstep::numerics
