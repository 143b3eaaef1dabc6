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

Sides sides(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t columns) {
  columns = std::min(columns, n);
  const std::int64_t rows = (n + columns - 1) / columns;
  return {kGap + columns * (w + kGap), kGap + rows * (h + kGap)};
}
}  // namespace

bool grid_fits(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
               std::int64_t columns) {
  const auto [width, height] = sides(n, h, w, columns);
  return width <= kMaxPictureSide && height <= kMaxPictureSide && width * height * c < kMostPixels;
}

Picture grid(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
             const std::uint8_t* images, std::int64_t columns) {
  LOCKSTEP_ASSERT(n >= 1 && h >= 1 && w >= 1 && (c == 1 || c == 3) && columns >= 1);
  columns = std::min(columns, n);
  const auto [width, height] = sides(n, h, w, columns);
  Picture out{width, height, c, {}};
  out.pixels.assign(static_cast<std::size_t>(out.width * out.height * c), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t top = kGap + i / columns * (h + kGap);
    const std::int64_t left = kGap + i % columns * (w + kGap);
    for (std::int64_t y = 0; y < h; ++y) {
      const std::uint8_t* row = images + (i * h + y) * w * c;
      std::copy_n(row, w * c, out.pixels.begin() + ((top + y) * out.width + left) * c);
    }
  }
  return out;
}

Picture grid(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c, const float* images,
             std::int64_t columns) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n * h * w * c));
  numerics::Cpu().to_bytes(n * h * w * c, images, bytes.data());
  return grid(n, h, w, c, bytes.data(), columns);
}

}  // namespace lockstep::data
