// Private: up-sampling for CUDA (resample.h), a thread an element.
#pragma once

#include "lockstep/numerics/spec/resample.h"
#include "numerics/cuda/device.h"

namespace lockstep::numerics::cuda {

template <class Gpu>
void Device<Gpu>::upsample_nearest(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                                   std::int64_t oh, std::int64_t ow, const float* x, float* y) {
  each(n * oh * ow * c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t channel = i % c, ox = i / c % ow, oy = i / (c * ow) % oh,
                       sample = i / (c * ow * oh);
    y[i] = x[((sample * h + oy * h / oh) * w + ox * w / ow) * c + channel];
  });
}

template <class Gpu>
void Device<Gpu>::upsample_nearest_backward(std::int64_t n, std::int64_t h, std::int64_t w,
                                            std::int64_t c, std::int64_t oh, std::int64_t ow,
                                            const float* dy, float* dx) {
  each(n * h * w * c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t channel = i % c, ix = i / c % w, iy = i / (c * w) % h,
                       sample = i / (c * w * h);
    float sum = 0.0F;
    for (std::int64_t oy = spec::first_output(iy, h, oh); oy < spec::first_output(iy + 1, h, oh);
         ++oy) {
      for (std::int64_t ox = spec::first_output(ix, w, ow); ox < spec::first_output(ix + 1, w, ow);
           ++ox) {
        sum += dy[((sample * oh + oy) * ow + ox) * c + channel];
      }
    }
    dx[i] = sum;
  });
}

}  // namespace lockstep::numerics::cuda
