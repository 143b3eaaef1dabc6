#include "numerics/cpu/integer_scalar.h"

namespace lockstep::numerics {
namespace {

// Pixel (y, x) of sample n, or null outside the image.
const std::int16_t* pixel(const std::int16_t* image, std::int64_t h, std::int64_t w, std::int64_t c,
                          std::int64_t n, std::int64_t y, std::int64_t x) {
  if (y < 0 || y >= h || x < 0 || x >= w) return nullptr;
  return image + ((n * h + y) * w + x) * c;
}

std::int64_t product(std::int16_t a, std::int16_t b) {
  return std::int64_t{a} * b;
}

}  // namespace

std::uint32_t largest_scalar(std::int64_t n, const float* x) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (spec::magnitude(x[i]) > largest) largest = spec::magnitude(x[i]);
  }
  return largest;
}

void round_scalar(std::int64_t rows, std::int64_t c, float factor, const float* x,
                  std::int64_t q_row, std::int16_t* q) {
  for (std::int64_t i = 0; i < rows * c; ++i) {
    q[i / c * q_row + i % c] = spec::rounded(x[i], factor);
  }
}

void integer_conv2d_scalar(const ConvShape& s, std::int64_t begin, std::int64_t end,
                           const Rounded& x, const Rounded& w, const float* bias, float* y) {
  const std::int64_t out_h = s.out_h(), out_w = s.out_w();
  for (std::int64_t i = begin * out_w; i < end * out_w; ++i) {
    const std::int64_t n = i / (out_h * out_w), oy = i / out_w % out_h, ox = i % out_w;
    for (std::int64_t co = 0; co < s.out; ++co) {
      std::int64_t sum = 0;
      for (std::int64_t ky = 0; ky < s.kh; ++ky) {
        for (std::int64_t kx = 0; kx < s.kw; ++kx) {
          const std::int16_t* from =
              pixel(x.q, s.h, s.w, s.in, n, oy * s.stride + ky - s.pad, ox * s.stride + kx - s.pad);
          const std::int16_t* weights = w.q + (ky * s.kw + kx) * s.in * s.out + co;
          for (std::int64_t ci = 0; from != nullptr && ci < s.in; ++ci) {
            sum += product(from[ci], weights[ci * s.out]);
          }
        }
      }
      const float value = spec::product_of(sum, x.exponents[n], w.exponents[0]);
      y[i * s.out + co] = bias == nullptr ? value : value + bias[co];
    }
  }
}

void integer_conv2d_input_grad_scalar(const ConvShape& s, std::int64_t begin, std::int64_t end,
                                      const Rounded& dy, const Rounded& w, const float* bias,
                                      float* dx) {
  for (std::int64_t i = begin * s.w; i < end * s.w; ++i) {
    const std::int64_t n = i / (s.h * s.w), y = i / s.w % s.h, x = i % s.w;
    for (std::int64_t ci = 0; ci < s.in; ++ci) {
      std::int64_t sum = 0;
      for (std::int64_t ky = 0; ky < s.kh; ++ky) {
        for (std::int64_t kx = 0; kx < s.kw; ++kx) {
          const std::int64_t ty = y + s.pad - ky, tx = x + s.pad - kx;
          if (ty % s.stride != 0 || tx % s.stride != 0) continue;
          const std::int16_t* from =
              pixel(dy.q, s.out_h(), s.out_w(), s.out, n, ty / s.stride, tx / s.stride);
          const std::int16_t* weights = w.q + ((ky * s.kw + kx) * s.in + ci) * s.out;
          for (std::int64_t co = 0; from != nullptr && co < s.out; ++co) {
            sum += product(from[co], weights[co]);
          }
        }
      }
      const float value = spec::product_of(sum, dy.exponents[n], w.exponents[0]);
      dx[i * s.in + ci] = bias == nullptr ? value : value + bias[ci];
    }
  }
}

void integer_conv2d_weight_grad_scalar(const ConvShape& s, std::int64_t first, std::int64_t samples,
                                       std::int64_t begin, std::int64_t end, const Rounded& x,
                                       const Rounded& dy, float* dw) {
  const std::int64_t out_h = s.out_h(), out_w = s.out_w();
  for (std::int64_t m = begin; m < end; ++m) {
    const std::int64_t ky = m / (s.kw * s.in), kx = m / s.in % s.kw, ci = m % s.in;
    for (std::int64_t co = 0; co < s.out; ++co) {
      float total = 0;
      for (std::int64_t n = first; n < first + samples; ++n) {
        const std::int16_t* to = dy.q + n * out_h * out_w * s.out + co;
        std::int64_t sum = 0;
        for (std::int64_t oy = 0; oy < out_h; ++oy) {
          for (std::int64_t ox = 0; ox < out_w; ++ox, to += s.out) {
            const std::int16_t* from = pixel(x.q, s.h, s.w, s.in, n, oy * s.stride + ky - s.pad,
                                             ox * s.stride + kx - s.pad);
            if (from != nullptr) sum += product(from[ci], *to);
          }
        }
        const float value = spec::product_of(sum, x.exponents[n], dy.exponents[n]);
        total = n == first ? value : total + value;
      }
      dw[(m - begin) * s.out + co] = total;
    }
  }
}

}  // namespace lockstep::numerics
