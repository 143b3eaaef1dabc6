// Private: rectangles of an NHWC image that may reach over its edges, of floats or of integers.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::numerics {

template <class T>
struct Image {
  const T* data = nullptr;
  std::int64_t h = 0, w = 0, c = 0;
};

struct Window {
  std::int64_t y = 0, x = 0, h = 0, w = 0;
};

template <class T>
struct View {
  const T* data = nullptr;  // the window's first pixel
  std::int64_t row = 0;     // elements from one row to the next
};

// Copies the window, zero outside the image, to `to`: [window.h][window.w][channels], zero in
// channels that the image does not have.
template <class T>
void copy_padded(const Image<T>& image, const Window& window, std::int64_t channels, T* to);

// The window itself where it lies inside the image and has as many channels, else a copy of it in
// `buffer`.
template <class T>
View<T> padded(const Image<T>& image, const Window& window, std::int64_t channels,
               std::vector<T>& buffer);

}  // namespace lockstep::numerics
