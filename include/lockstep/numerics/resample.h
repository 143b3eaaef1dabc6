// Nearest-neighbour up-sampling, NHWC: y[oy][ox] = x[oy*h/oh][ox*w/ow] (integer division). The
// transpose adds, for each source pixel, its output pixels in (oy, ox) order: one chain from +0.
// Bits: values, shape.
#pragma once

#include <cstdint>

namespace lockstep::numerics {

class Resampling {
 public:
  virtual void upsample_nearest(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                                std::int64_t oh, std::int64_t ow, const float* x, float* y) = 0;
  virtual void upsample_nearest_backward(std::int64_t n, std::int64_t h, std::int64_t w,
                                         std::int64_t c, std::int64_t oh, std::int64_t ow,
                                         const float* dy, float* dx) = 0;

 protected:
  ~Resampling() = default;
};

}  // namespace lockstep::numerics
