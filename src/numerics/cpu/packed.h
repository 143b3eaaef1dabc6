// Private: aligned scratch memory, and the layout in which the register tile reads its columns.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "numerics/cpu/register_tile.h"

namespace lockstep::numerics {

// `n` floats, not initialised, aligned for the widest vector.
class Scratch {
 public:
  explicit Scratch(std::int64_t n)
      : data_(static_cast<float*>(
            std::aligned_alloc(64, (static_cast<std::size_t>(n) * 4 + 127) / 64 * 64))) {
    if (data_ == nullptr) throw std::bad_alloc();
  }
  float* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  std::unique_ptr<float, Free> data_;
};

// [depth][columns] as panels of tile.columns() columns, each [depth][width]; the last panel is as
// wide as the vectors that it needs, filled up with zeros (their results are dropped).
class PackedColumns {
 public:
  PackedColumns(const TileKernels& tile, std::int64_t depth, std::int64_t columns);

  // Rows [first, first+count) from source(k, j) = source[k*row + j*column].
  void fill(std::int64_t first, std::int64_t count, const float* source, std::int64_t row,
            std::int64_t column);

  std::int64_t columns() const { return columns_; }
  std::int64_t depth() const { return depth_; }
  std::int64_t panels() const { return (columns_ + tile_.columns() - 1) / tile_.columns(); }
  std::int64_t first_column(std::int64_t panel) const { return panel * tile_.columns(); }
  std::int64_t columns_of(std::int64_t panel) const;
  const float* row(std::int64_t panel, std::int64_t k) const;

 private:
  std::int64_t width(std::int64_t panel) const {
    return columns_of(panel) > tile_.lanes ? tile_.columns() : tile_.lanes;
  }

  const TileKernels& tile_;
  std::int64_t depth_, columns_;
  Scratch data_;
};

// Rows of outputs, each a chain over packed.depth(): c[i][j] (+)= chain of a[i][a_offset[k]] *
// packed.
struct Sweep {
  const TileKernels* tile = nullptr;
  const float* const* a = nullptr;  // [rows]
  float* const* c = nullptr;        // [rows]
  std::int64_t rows = 0;
  const std::int64_t* a_offset = nullptr;  // [packed->depth()]
  const PackedColumns* packed = nullptr;
  const float* bias = nullptr;
  std::int64_t block = 0;  // at most kBlock
  bool add = false;        // c holds the sum of earlier blocks
};
void sweep_tiles(const Sweep& s);

}  // namespace lockstep::numerics
