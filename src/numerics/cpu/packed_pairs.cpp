#include "numerics/cpu/packed_pairs.h"

#include <algorithm>

#include "lockstep/numerics/spec/integer.h"

namespace lockstep::numerics {
namespace {

// What a group that is not finite makes of its results.
void fill_with_nan(const IntegerSweep& s) {
  const float nan = spec::product_of(0, spec::kNotFinite, spec::kNotFinite);
  for (std::int64_t i = 0; i < s.rows; ++i) std::fill_n(s.c[i], s.packed->columns(), nan);
}

}  // namespace

PackedPairs::PackedPairs(const IntegerKernels& kernels, std::int64_t pairs, std::int64_t columns)
    : kernels_(kernels),
      pairs_(pairs),
      columns_(columns),
      data_(pairs * (columns + kernels.columns())) {}

std::int64_t PackedPairs::columns_of(std::int64_t panel) const {
  return std::min<std::int64_t>(kernels_.columns(), columns_ - first_column(panel));
}

std::int16_t* PackedPairs::place(std::int64_t panel, std::int64_t pair) {
  return reinterpret_cast<std::int16_t*>(data_.data()) +
         2 * (first_column(panel) * pairs_ + pair * width(panel));
}

void PackedPairs::clear_rest(std::int64_t pair) {
  const std::int64_t last = panels() - 1, used = columns_of(last);
  std::fill(place(last, pair) + 2 * used, place(last, pair) + 2 * width(last), std::int16_t{0});
}

void PackedPairs::fill(std::int64_t pair, const std::int16_t* first, const std::int16_t* second) {
  for (std::int64_t panel = 0; panel < panels(); ++panel) {
    const std::int64_t column = first_column(panel);
    kernels_.interleave(columns_of(panel), first + column,
                        second == nullptr ? nullptr : second + column, place(panel, pair));
  }
  clear_rest(pair);
}

void PackedPairs::fill_transposed(std::int64_t pair, std::int64_t count, const std::int16_t* from,
                                  std::int64_t stride) {
  for (std::int64_t k = 0; k < count; k += 2, ++pair) {
    for (std::int64_t panel = 0; panel < panels(); ++panel) {
      const std::int16_t* column = from + first_column(panel) * stride + k;
      std::int16_t* to = place(panel, pair);
      for (std::int64_t j = 0; j < columns_of(panel); ++j, column += stride) {
        to[2 * j] = column[0];
        to[2 * j + 1] = k + 1 < count ? column[1] : std::int16_t{0};
      }
    }
    clear_rest(pair);
  }
}

bool PackedPairs::fits() const {
  if (2 * pairs_ <= spec::kExactProducts) return true;
  for (std::int64_t panel = 0; panel < panels(); ++panel) {
    if (kernels_.column_sum(pairs_, width(panel), row(panel, 0)) > kMostOfColumn) return false;
  }
  return true;
}

void sweep_integer_tiles(const IntegerSweep& s) {
  if (s.exponent_u == spec::kNotFinite || s.exponent_v == spec::kNotFinite) {
    return fill_with_nan(s);
  }
  const PackedPairs& packed = *s.packed;
  // Tiles of nearly equal height: a last one of one row would wait for its few products.
  const std::int64_t tiles = (s.rows + s.kernels->rows - 1) / s.kernels->rows;
  float* c[kMaxTileRows];
  IntegerTile t{.a_offset = s.a_offset,
                .pairs = packed.pairs(),
                .fits = s.fits,
                .exponent = s.exponent_u + s.exponent_v - 20,
                .c = c};
  for (std::int64_t p = 0; p < packed.panels(); ++p) {
    const std::int64_t column = packed.first_column(p);
    t.b = packed.row(p, 0);
    t.columns = static_cast<int>(packed.columns_of(p));
    t.bias = s.bias == nullptr ? nullptr : s.bias + column;
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t begin = s.rows * i / tiles;
      t.rows = static_cast<int>(s.rows * (i + 1) / tiles - begin);
      t.a = s.a + begin;
      for (int r = 0; r < t.rows; ++r) c[r] = s.c[begin + r] + column;
      s.kernels->tile(t);
    }
  }
}

}  // namespace lockstep::numerics
