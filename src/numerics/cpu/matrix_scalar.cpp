#include "numerics/cpu/matrix_scalar.h"

#include "lockstep/numerics/spec/fma_region.h"
#include "numerics/cpu/chain_group_scalar.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {
namespace {

// Pixel (y, x) of sample n, or null outside the image.
const float* pixel(const float* image, std::int64_t h, std::int64_t w, std::int64_t c,
                   std::int64_t n, std::int64_t y, std::int64_t x) {
  if (y < 0 || y >= h || x < 0 || x >= w) return nullptr;
  return image + ((n * h + y) * w + x) * c;
}

}  // namespace

void gemm_scalar(std::int64_t begin, std::int64_t end, std::int64_t n, std::int64_t depth,
                 const Operand& a, const Operand& b, const float* bias, const Output& c) {
  for (std::int64_t i = begin; i < end; ++i) {
    for_each_group(n, [&](std::int64_t j, std::int64_t count) {
      ChainGroup chains(count);
      for (std::int64_t k = 0; k < depth; ++k) {
        chains.step(a.data[i * a.row + k * a.col], b.data + k * b.row + j * b.col, b.col);
      }
      chains.finish(bias == nullptr ? nullptr : bias + j, c.data + i * c.row + j);
    });
  }
}

void conv2d_scalar(const ConvShape& s, std::int64_t begin, std::int64_t end, const float* x,
                   const float* w, const float* bias, float* y) {
  const std::int64_t out_h = s.out_h(), out_w = s.out_w();
  for (std::int64_t i = begin * out_w; i < end * out_w; ++i) {
    const std::int64_t n = i / (out_h * out_w), oy = i / out_w % out_h, ox = i % out_w;
    for_each_group(s.out, [&](std::int64_t co, std::int64_t count) {
      ChainGroup chains(count);
      for (std::int64_t ky = 0; ky < s.kh; ++ky) {
        for (std::int64_t kx = 0; kx < s.kw; ++kx) {
          const float* from =
              pixel(x, s.h, s.w, s.in, n, oy * s.stride + ky - s.pad, ox * s.stride + kx - s.pad);
          const float* weights = w + (ky * s.kw + kx) * s.in * s.out + co;
          for (std::int64_t ci = 0; ci < s.in; ++ci) {
            chains.step(from == nullptr ? 0.0F : from[ci], weights + ci * s.out, 1);
          }
        }
      }
      chains.finish(bias == nullptr ? nullptr : bias + co, y + i * s.out + co);
    });
  }
}

void conv2d_input_grad_scalar(const ConvShape& s, std::int64_t begin, std::int64_t end,
                              const float* dy, const float* w, const float* bias, float* dx) {
  for (std::int64_t i = begin * s.w; i < end * s.w; ++i) {
    const std::int64_t n = i / (s.h * s.w), y = i / s.w % s.h, x = i % s.w;
    for_each_group(s.in, [&](std::int64_t ci, std::int64_t count) {
      ChainGroup chains(count);
      for (std::int64_t ky = 0; ky < s.kh; ++ky) {
        for (std::int64_t kx = 0; kx < s.kw; ++kx) {
          const std::int64_t ty = y + s.pad - ky, tx = x + s.pad - kx;
          if (ty % s.stride != 0 || tx % s.stride != 0) continue;
          const float* from =
              pixel(dy, s.out_h(), s.out_w(), s.out, n, ty / s.stride, tx / s.stride);
          const float* weights = w + ((ky * s.kw + kx) * s.in + ci) * s.out;
          for (std::int64_t co = 0; co < s.out; ++co) {
            chains.step(from == nullptr ? 0.0F : from[co], weights + co, s.out);
          }
        }
      }
      chains.finish(bias == nullptr ? nullptr : bias + ci, dx + i * s.in + ci);
    });
  }
}

void conv2d_weight_grad_scalar(const ConvShape& s, std::int64_t first, std::int64_t samples,
                               std::int64_t begin, std::int64_t end, const float* x,
                               const float* dy, float* dw) {
  for (std::int64_t m = begin; m < end; ++m) {
    const std::int64_t ky = m / (s.kw * s.in), kx = m / s.in % s.kw, ci = m % s.in;
    for_each_group(s.out, [&](std::int64_t co, std::int64_t count) {
      ChainGroup chains(count);
      const float* grad = dy + first * s.out_h() * s.out_w() * s.out + co;
      for (std::int64_t n = first; n < first + samples; ++n) {
        for (std::int64_t oy = 0; oy < s.out_h(); ++oy) {
          for (std::int64_t ox = 0; ox < s.out_w(); ++ox, grad += s.out) {
            const float* from =
                pixel(x, s.h, s.w, s.in, n, oy * s.stride + ky - s.pad, ox * s.stride + kx - s.pad);
            chains.step(from == nullptr ? 0.0F : from[ci], grad, 1);
          }
        }
      }
      chains.finish(nullptr, dw + (m - begin) * s.out + co);
    });
  }
}

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
