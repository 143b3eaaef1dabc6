
#include "lockstep/numerics/spec/resample.h"

#include <cstring>

#include "lockstep/numerics/cpu.h"

// Copies and additions only: plain C++ gives the same bits and, being bound by memory, the same
// speed as SIMD, so there is one implementation for every Isa.
namespace lockstep::numerics {
void Cpu::upsample_nearest(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                           std::int64_t oh, std::int64_t ow, const float* x, float* y) {
  parallel_for(n * oh, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* const from = x + (row / oh * h + row % oh * h / oh) * w * c;
      float* const to = y + row * ow * c;
      for (std::int64_t ox = 0; ox < ow; ++ox) {
        std::memcpy(to + ox * c, from + ox * w / ow * c, static_cast<std::size_t>(c) * 4);
      }
    }
  });
}

void Cpu::upsample_nearest_backward(std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t c,
                                    std::int64_t oh, std::int64_t ow, const float* dy, float* dx) {
  parallel_for(n * h, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* const from = dy + row / h * oh * ow * c;
      for (std::int64_t ix = 0; ix < w; ++ix) {
        float* const sum = dx + (row * w + ix) * c;
        std::memset(sum, 0, static_cast<std::size_t>(c) * 4);
        for (std::int64_t oy = spec::first_output(row % h, h, oh);
             oy < spec::first_output(row % h + 1, h, oh); ++oy) {
          for (std::int64_t ox = spec::first_output(ix, w, ow);
               ox < spec::first_output(ix + 1, w, ow); ++ox) {
            const float* const term = from + (oy * ow + ox) * c;
            for (std::int64_t j = 0; j < c; ++j) sum[j] += term[j];
          }
        }
      }
    }
  });
}

}  // namespace lockstep::numerics
