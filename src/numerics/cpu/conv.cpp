
#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/correlation.h"
#include "numerics/cpu/matrix_scalar.h"

namespace lockstep::numerics {
namespace {

Correlation forward(const ConvShape& s, const float* w) {
  TapClass all;
  for (std::int64_t ky = 0; ky < s.kh; ++ky) {
    for (std::int64_t kx = 0; kx < s.kw; ++kx) {
      all.taps.push_back({ky - s.pad, kx - s.pad, w + (ky * s.kw + kx) * s.in * s.out});
    }
  }
  return {.n = s.n,
          .src_h = s.h,
          .src_w = s.w,
          .channels = s.in,
          .dst_h = s.out_h(),
          .dst_w = s.out_w(),
          .columns = s.out,
          .src_step = s.stride,
          .dst_step = 1,
          .weight_row = s.out,
          .weight_column = 1,
          .classes = {all}};
}

// Pixels of dx with the same remainders of y and x by the stride meet the same taps.
TapClass input_grad_class(const ConvShape& s, const float* w, std::int64_t y, std::int64_t x) {
  TapClass result{y, x, {}};
  for (std::int64_t ky = 0; ky < s.kh; ++ky) {
    for (std::int64_t kx = 0; kx < s.kw; ++kx) {
      const std::int64_t ty = y + s.pad - ky, tx = x + s.pad - kx;
      if (ty % s.stride != 0 || tx % s.stride != 0) continue;
      result.taps.push_back({ty / s.stride, tx / s.stride, w + (ky * s.kw + kx) * s.in * s.out});
    }
  }
  return result;
}

Correlation input_grad(const ConvShape& s, const float* w) {
  Correlation result{.n = s.n,
                     .src_h = s.out_h(),
                     .src_w = s.out_w(),
                     .channels = s.out,
                     .dst_h = s.h,
                     .dst_w = s.w,
                     .columns = s.in,
                     .src_step = 1,
                     .dst_step = s.stride,
                     .weight_row = 1,
                     .weight_column = s.out,
                     .classes = {}};
  for (std::int64_t y = 0; y < s.stride; ++y) {
    for (std::int64_t x = 0; x < s.stride; ++x) {
      result.classes.push_back(input_grad_class(s, w, y, x));
    }
  }
  return result;
}

}  // namespace

void Cpu::conv2d(const ConvShape& s, const float* x, const float* w, const float* bias, float* y) {
  if (s.n * s.out_h() * s.out_w() * s.out == 0) return;
  if (isa() == Isa::kScalar) {
    parallel_for(s.n * s.out_h(), 1, [&](std::int64_t begin, std::int64_t end) {
      conv2d_scalar(s, begin, end, x, w, bias, y);
    });
    return;
  }
  correlate(*this, tile_kernels(isa()), forward(s, w), x, bias, y);
}

void Cpu::conv2d_input_grad(const ConvShape& s, const float* dy, const float* w, const float* bias,
                            float* dx) {
  if (s.n * s.h * s.w * s.in == 0) return;
  if (isa() == Isa::kScalar) {
    parallel_for(s.n * s.h, 1, [&](std::int64_t begin, std::int64_t end) {
      conv2d_input_grad_scalar(s, begin, end, dy, w, bias, dx);
    });
    return;
  }
  correlate(*this, tile_kernels(isa()), input_grad(s, w), dy, bias, dx);
}

}  // namespace lockstep::numerics
