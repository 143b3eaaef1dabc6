// Private: up-sampling for CUDA (resample.h).
#pragma once

#include "lockstep/numerics/spec/resample.h"
#include "numerics/cuda/device.h"
#include "numerics/cuda/divisor.h"
#include "numerics/cuda/elements.h"

namespace lockstep::numerics::cuda {

template <class Gpu>
void Device<Gpu>::upsample_nearest(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                                   std::int64_t oh, std::int64_t ow, const float* x, float* y) {
  const std::int64_t all = n * oh * ow * c;
  const Divisor channels(c, all), columns(ow, all), rows(oh, all), down(oh, oh * h),
      across(ow, ow * w);
  elements(
      *gpu_, all, y,
      [=] LOCKSTEP_DEVICE(std::int64_t i) {
        const std::int64_t position = channels.quotient(i), line = columns.quotient(position),
                           sample = rows.quotient(line), oy = line - sample * oh,
                           ox = position - line * ow, channel = i - position * c;
        return x[((sample * h + down.quotient(oy * h)) * w + across.quotient(ox * w)) * c +
                 channel];
      },
      Itself());
}

template <class Gpu>
void Device<Gpu>::upsample_nearest_backward(std::int64_t n, std::int64_t h, std::int64_t w,
                                            std::int64_t c, std::int64_t oh, std::int64_t ow,
                                            const float* dy, float* dx) {
  const std::int64_t all = n * h * w * c;
  const Divisor channels(c, all), columns(w, all), rows(h, all);
  each(all, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t position = channels.quotient(i), line = columns.quotient(position),
                       sample = rows.quotient(line), iy = line - sample * h,
                       ix = position - line * w, channel = i - position * c;
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
