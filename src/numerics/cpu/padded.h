// Private: rectangles of an NHWC image that may reach over its edges.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::numerics {

struct Image {
  const float* data = nullptr;
  std::int64_t h = 0, w = 0, c = 0;
};

struct Window {
  std::int64_t y = 0, x = 0, h = 0, w = 0;
};

struct View {
  const float* data = nullptr;  // the window's first pixel
  std::int64_t row = 0;         // floats from one row to the next
};

// Copies the window, +0 outside the image, to `to`: [window.h][window.w][image.c].
void copy_padded(const Image& image, const Window& window, float* to);

// The window itself where it lies inside the image, else a copy of it in `buffer`.
View padded(const Image& image, const Window& window, std::vector<float>& buffer);

}  // namespace lockstep::numerics
