#include "numerics/cpu/padded.h"

#include <algorithm>

namespace lockstep::numerics {

void copy_padded(const Image& image, const Window& window, float* to) {
  const std::int64_t row = window.w * image.c;
  const std::int64_t left = std::clamp<std::int64_t>(-window.x, 0, window.w);
  const std::int64_t right = std::clamp<std::int64_t>(image.w - window.x, left, window.w);
  for (std::int64_t y = window.y; y < window.y + window.h; ++y, to += row) {
    if (y < 0 || y >= image.h) {
      std::fill_n(to, row, 0.0F);
      continue;
    }
    std::fill_n(to, left * image.c, 0.0F);
    if (right > left) {
      std::copy_n(image.data + (y * image.w + window.x + left) * image.c, (right - left) * image.c,
                  to + left * image.c);
    }
    std::fill(to + right * image.c, to + row, 0.0F);
  }
}

View padded(const Image& image, const Window& window, std::vector<float>& buffer) {
  if (window.y >= 0 && window.x >= 0 && window.y + window.h <= image.h &&
      window.x + window.w <= image.w) {
    return {image.data + (window.y * image.w + window.x) * image.c, image.w * image.c};
  }
  const auto size = static_cast<std::size_t>(window.h * window.w * image.c);
  if (buffer.size() < size) buffer.resize(size);
  copy_padded(image, window, buffer.data());
  return {buffer.data(), window.w * image.c};
}

}  // namespace lockstep::numerics
