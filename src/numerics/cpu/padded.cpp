#include "numerics/cpu/padded.h"

#include <algorithm>

namespace lockstep::numerics {
namespace {

// `pixels` of c channels, to pixels of `channels`.
template <class T>
void copy_pixels(const T* from, std::int64_t pixels, std::int64_t c, std::int64_t channels, T* to) {
  if (c == channels) {
    std::copy_n(from, pixels * c, to);
    return;
  }
  for (std::int64_t i = 0; i < pixels; ++i, from += c, to += channels) {
    std::fill(std::copy_n(from, c, to), to + channels, T{});
  }
}

}  // namespace

template <class T>
void copy_padded(const Image<T>& image, const Window& window, std::int64_t channels, T* to) {
  const std::int64_t row = window.w * channels;
  const std::int64_t left = std::clamp<std::int64_t>(-window.x, 0, window.w);
  const std::int64_t right = std::clamp<std::int64_t>(image.w - window.x, left, window.w);
  for (std::int64_t y = window.y; y < window.y + window.h; ++y, to += row) {
    if (y < 0 || y >= image.h) {
      std::fill_n(to, row, T{});
      continue;
    }
    std::fill_n(to, left * channels, T{});
    if (right > left) {
      copy_pixels(image.data + (y * image.w + window.x + left) * image.c, right - left, image.c,
                  channels, to + left * channels);
    }
    std::fill(to + right * channels, to + row, T{});
  }
}

template <class T>
View<T> padded(const Image<T>& image, const Window& window, std::int64_t channels,
               std::vector<T>& buffer) {
  if (channels == image.c && window.y >= 0 && window.x >= 0 && window.y + window.h <= image.h &&
      window.x + window.w <= image.w) {
    return {image.data + (window.y * image.w + window.x) * image.c, image.w * image.c};
  }
  const auto size = static_cast<std::size_t>(window.h * window.w * channels);
  if (buffer.size() < size) buffer.resize(size);
  copy_padded(image, window, channels, buffer.data());
  return {buffer.data(), window.w * channels};
}

template void copy_padded(const Image<float>&, const Window&, std::int64_t, float*);
template void copy_padded(const Image<std::int16_t>&, const Window&, std::int64_t, std::int16_t*);
template View<float> padded(const Image<float>&, const Window&, std::int64_t, std::vector<float>&);
template View<std::int16_t> padded(const Image<std::int16_t>&, const Window&, std::int64_t,
                                   std::vector<std::int16_t>&);

}  // namespace lockstep::numerics
