// Element-wise operations: one scalar definition an element (scalar.h), any order, any thread.
// `out` may be one of the inputs. Bits: the elements.
#pragma once

#include <cstdint>

namespace lockstep::numerics {

enum class Unary {
  kExp,
  kLog,
  kSin,
  kCos,
  kTanh,
  kErf,  // correctly rounded
  kSqrt,
  kRsqrt,
  kNegate,
  kSquare,
  kAbs,
  kRelu,
  kSigmoid,
  kSilu,
  kSoftplus,
  kGelu  // written compositions, scalar.h
};
void unary(Unary op, std::int64_t n, const float* x, float* out);
// out = dy * op'(x), as written for each op in scalar.h. kAbs, kRelu: derivative 0 at 0.
void unary_backward(Unary op, std::int64_t n, const float* x, const float* dy, float* out);

void leaky_relu(std::int64_t n, float slope, const float* x, float* out);  // x > 0 ? x : slope*x
void leaky_relu_backward(std::int64_t n, float slope, const float* x, const float* dy, float* out);

enum class Binary { kAdd, kSubtract, kMultiply, kDivide };
void binary(Binary op, std::int64_t n, const float* a, const float* b, float* out);

void scale(std::int64_t n, float factor, const float* x, float* out);  // factor * x
void scale_add(std::int64_t n, float factor, const float* x, const float* y,
               float* out);  // fma(factor, x, y)
// out = fma(a, x, b*y): the forward process of diffusion (coefficients per row below).
void combine(std::int64_t n, float a, const float* x, float b, const float* y, float* out);

// Rows: x is [rows][cols]; v has one value a row, or one a column.
void add_row_vector(std::int64_t rows, std::int64_t cols, const float* x, const float* v,
                    float* out);  // x + v[col]
void scale_rows(std::int64_t rows, std::int64_t cols, const float* x, const float* v,
                float* out);  // x * v[row]
// x [n][spatial][c] + e [n][c]
void add_channel_bias(std::int64_t n, std::int64_t spatial, std::int64_t c, const float* x,
                      const float* e, float* out);

bool all_finite(std::int64_t n, const float* x);
void clamp(std::int64_t n, float low, float high, const float* x, float* out);  // NaN stays NaN

// Exact integer <-> float: image bytes. byte/127.5 - 1 as fma(float(b), 2/255 rounded, -1); back:
// floor(fma(clamp(x,-1,1), 127.5, 128)) limited to 255.
void from_bytes(std::int64_t n, const std::uint8_t* bytes, float* out);
void to_bytes(std::int64_t n, const float* x, std::uint8_t* out);

}  // namespace lockstep::numerics
