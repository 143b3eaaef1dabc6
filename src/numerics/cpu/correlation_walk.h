// Private: one thread's walk over the rows of cells of a correlation, of floats or of integers. It
// copies what lies at the edges, and lists where the sums of a class of pixels begin.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "numerics/cpu/correlation.h"
#include "numerics/cpu/padded.h"

namespace lockstep::numerics {

// Outputs c[i], each a sum over k of a[i][offsets[k]] (and of the `step` elements from there on).
template <class T>
struct Pixels {
  std::int64_t sample = 0;
  std::size_t tap_class = 0;
  std::vector<const T*> a;
  std::vector<float*> c;
  std::vector<std::int64_t> offsets;
};

// kStep: channels that are multiplied at a time. Copies have a multiple of them.
template <class T, std::int64_t kStep>
class CorrelationWalk {
 public:
  CorrelationWalk(const Correlation& s, const T* src, float* dst)
      : s_(s), channels_(stored(s.channels)), src_(src), dst_(dst), reach_(reach_of(s)) {
    width_ = (CellRows(s).w() - 1) * s.src_step + reach_.high_x - reach_.low_x + 1;
    rows_at_once_ =
        std::max<std::int64_t>(1, kCopyElements / (width_ * channels_ * s.src_step + 1));
  }

  static constexpr std::int64_t stored(std::int64_t channels) {
    return (channels + kStep - 1) / kStep * kStep;
  }

  // body(Pixels<T>) for cell rows [begin, end) of sample n.
  template <class Body>
  void run(std::int64_t n, std::int64_t begin, std::int64_t end, const Body& body) {
    pixels_.sample = n;
    for (std::int64_t i = begin; i < end; i += rows_at_once_) {
      some_rows(i, std::min(end, i + rows_at_once_), body);
    }
  }

 private:
  // Of a padded copy: stays in the second-level cache.
  static constexpr std::int64_t kCopyElements = 64 * 1024;

  template <class Body>
  void some_rows(std::int64_t begin, std::int64_t end, const Body& body) {
    const Window window{.y = begin * s_.src_step + reach_.low_y,
                        .x = reach_.low_x,
                        .h = (end - begin - 1) * s_.src_step + reach_.high_y - reach_.low_y + 1,
                        .w = width_};
    const Image<T> image{src_ + pixels_.sample * s_.src_h * s_.src_w * s_.channels, s_.src_h,
                         s_.src_w, s_.channels};
    const View<T> view = padded(image, window, channels_, copy_);
    for (std::size_t c = 0; c < s_.classes.size(); ++c) {
      pixels_.tap_class = c;
      list_pixels(begin, end, s_.classes[c], view);
      list_offsets(s_.classes[c], view);
      body(pixels_);
    }
  }

  void list_pixels(std::int64_t begin, std::int64_t end, const TapClass& c, const View<T>& view) {
    pixels_.a.clear();
    pixels_.c.clear();
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t y = i * s_.dst_step + c.y;
      if (y >= s_.dst_h) break;
      const T* a = view.data + (i - begin) * s_.src_step * view.row;
      float* to = dst_ + ((pixels_.sample * s_.dst_h + y) * s_.dst_w + c.x) * s_.columns;
      for (std::int64_t x = c.x; x < s_.dst_w; x += s_.dst_step) {
        pixels_.a.push_back(a);
        pixels_.c.push_back(to);
        a += s_.src_step * channels_;
        to += s_.dst_step * s_.columns;
      }
    }
  }

  void list_offsets(const TapClass& c, const View<T>& view) {
    pixels_.offsets.clear();
    for (const Tap& t : c.taps) {
      const std::int64_t tap = (t.y - reach_.low_y) * view.row + (t.x - reach_.low_x) * channels_;
      for (std::int64_t k = 0; k < channels_; k += kStep) pixels_.offsets.push_back(tap + k);
    }
  }

  const Correlation& s_;
  const std::int64_t channels_;
  const T* src_;
  float* dst_;
  const Reach reach_;
  std::int64_t width_, rows_at_once_;
  std::vector<T> copy_;
  Pixels<T> pixels_;
};

}  // namespace lockstep::numerics
