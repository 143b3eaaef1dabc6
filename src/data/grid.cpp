#include "lockstep/data/grid.h"

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"

namespace lockstep::data {
namespace {
constexpr std::int64_t kGap = 2;  // pixels

struct Sides {
  std::int64_t width, height;
};

// Image i stands in this row and column.
struct Cell {
  std::int64_t row, column;
};

Cell cell_of(std::int64_t i, GridLayout layout) {
  const std::int64_t band = layout.columns * layout.rows;
  return {i / band * layout.rows + i % band % layout.rows, i % band / layout.rows};
}

Sides sides(std::int64_t n, std::int64_t h, std::int64_t w, GridLayout layout) {
  const std::int64_t band = layout.columns * layout.rows, whole = (n - 1) / band * band;
  const std::int64_t columns = whole > 0 ? layout.columns : cell_of(n - 1, layout).column + 1;
  const std::int64_t rows = whole / layout.columns + std::min(layout.rows, n - whole);
  return {kGap + columns * (w + kGap), kGap + rows * (h + kGap)};
}
}  // namespace

bool grid_fits(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, GridLayout layout) {
  const auto [width, height] = sides(n, h, w, layout);
  return width <= kMaxPictureSide && height <= kMaxPictureSide && width * height * c < kMostPixels;
}

Picture grid(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
             const std::uint8_t* images, GridLayout layout) {
  LOCKSTEP_ASSERT(n >= 1 && h >= 1 && w >= 1 && (c == 1 || c == 3) && layout.columns >= 1 &&
                  layout.rows >= 1);
  const auto [width, height] = sides(n, h, w, layout);
  Picture out{width, height, c, {}};
  out.pixels.assign(static_cast<std::size_t>(out.width * out.height * c), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto [row, column] = cell_of(i, layout);
    const std::int64_t top = kGap + row * (h + kGap), left = kGap + column * (w + kGap);
    for (std::int64_t y = 0; y < h; ++y) {
      const std::uint8_t* line = images + (i * h + y) * w * c;
      std::copy_n(line, w * c, out.pixels.begin() + ((top + y) * out.width + left) * c);
    }
  }
  return out;
}

Picture grid(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, const float* images,
             GridLayout layout) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n * h * w * c));
  numerics::Cpu().to_bytes(n * h * w * c, images, bytes.data());
  return grid(n, h, w, c, bytes.data(), layout);
}

}  // namespace lockstep::data
