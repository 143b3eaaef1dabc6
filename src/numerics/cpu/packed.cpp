#include "numerics/cpu/packed.h"

#include <algorithm>

#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::numerics {

PackedColumns::PackedColumns(const TileKernels& tile, std::int64_t depth, std::int64_t columns)
    : tile_(tile), depth_(depth), columns_(columns), data_(depth * (columns + tile.columns())) {}

std::int64_t PackedColumns::columns_of(std::int64_t panel) const {
  return std::min<std::int64_t>(tile_.columns(), columns_ - first_column(panel));
}

const float* PackedColumns::row(std::int64_t panel, std::int64_t k) const {
  return data_.data() + first_column(panel) * depth_ + k * width(panel);
}

void PackedColumns::fill(std::int64_t first, std::int64_t count, const float* source,
                         std::int64_t row, std::int64_t column) {
  for (std::int64_t p = 0; p < panels(); ++p) {
    const std::int64_t used = columns_of(p), wide = width(p);
    const float* from = source + first_column(p) * column;
    float* to = const_cast<float*>(this->row(p, first));
    if (row == 1) tile_.transpose(used, count, from, column, to, wide);
    for (std::int64_t k = 0; k < count; ++k, from += row, to += wide) {
      if (column == 1) {
        std::copy_n(from, used, to);
      } else if (row != 1) {
        for (std::int64_t j = 0; j < used; ++j) to[j] = from[j * column];
      }
      std::fill(to + used, to + wide, 0.0F);
    }
  }
}

void sweep_tiles(const Sweep& s) {
  const PackedColumns& packed = *s.packed;
  // Tiles of nearly equal height: a last one of one row would wait for the latency of its few FMAs.
  const std::int64_t tiles = (s.rows + s.tile->rows - 1) / s.tile->rows;
  float* c[kMaxTileRows];
  RegisterTile t;
  t.c = c;
  std::int64_t k = 0;
  do {
    t.depth = std::min(s.block, packed.depth() - k);
    t.a_offset = s.a_offset + k;
    t.add = s.add || k > 0;
    for (std::int64_t p = 0; p < packed.panels(); ++p) {
      const std::int64_t column = packed.first_column(p);
      t.b = packed.row(p, k);
      t.columns = static_cast<int>(packed.columns_of(p));
      t.bias = s.bias != nullptr && k + t.depth == packed.depth() ? s.bias + column : nullptr;
      for (std::int64_t i = 0; i < tiles; ++i) {
        const std::int64_t begin = s.rows * i / tiles;
        t.rows = static_cast<int>(s.rows * (i + 1) / tiles - begin);
        t.a = s.a + begin;
        for (int r = 0; r < t.rows; ++r) c[r] = s.c[begin + r] + column;
        s.tile->tile(t);
      }
    }
    k += t.depth;
  } while (k < packed.depth());
}

}  // namespace lockstep::numerics
