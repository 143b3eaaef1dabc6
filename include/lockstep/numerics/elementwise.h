// Element-wise operations: one scalar definition an element (spec/scalar.h), any order, any thread.
// `out` may be one of the inputs of its shape. Bits: the elements.
#pragma once

#include <cstdint>
#include <span>

#include "lockstep/numerics/spec/elementwise.h"

namespace lockstep::numerics {

// In the order of Unary.
inline constexpr Unary kEveryUnary[] = {
#define LOCKSTEP_ROW(function, derivative, Function, Derivative) Unary::k##Function,
    LOCKSTEP_UNARY(LOCKSTEP_ROW)
#undef LOCKSTEP_ROW
};
inline constexpr int kUnaryCount = static_cast<int>(sizeof kEveryUnary / sizeof *kEveryUnary);

// As docs/numerics.md has it.
constexpr const char* name(Unary op) {
  constexpr const char* kNames[] = {
#define LOCKSTEP_ROW(function, derivative, Function, Derivative) #function,
      LOCKSTEP_UNARY(LOCKSTEP_ROW)
#undef LOCKSTEP_ROW
  };
  return kNames[static_cast<int>(op)];
}

class Elementwise {
 public:
  virtual void unary(Unary op, std::int64_t n, const float* x, float* out) = 0;
  // out = dy * op'(x), as written for each op in spec/scalar.h. kAbs, kRelu: derivative 0 at 0.
  virtual void unary_backward(Unary op, std::int64_t n, const float* x, const float* dy,
                              float* out) = 0;

  virtual void leaky_relu(std::int64_t n, float slope, const float* x,
                          float* out) = 0;  // x > 0 ? x : slope*x
  virtual void leaky_relu_backward(std::int64_t n, float slope, const float* x, const float* dy,
                                   float* out) = 0;

  virtual void binary(Binary op, std::int64_t n, const float* a, const float* b, float* out) = 0;

  virtual void scale(std::int64_t n, float factor, const float* x, float* out) = 0;  // factor * x
  virtual void scale_add(std::int64_t n, float factor, const float* x, const float* y,
                         float* out) = 0;  // fma(factor, x, y)
  // out = fma(a, x, b*y), with one a and b, or one a row: the forward process of diffusion.
  virtual void combine(std::int64_t n, float a, const float* x, float b, const float* y,
                       float* out) = 0;
  virtual void combine_rows(std::int64_t rows, std::int64_t cols, const float* a, const float* x,
                            const float* b, const float* y, float* out) = 0;

  // Rows: x is [rows][cols]; v has one value a row.
  virtual void scale_rows(std::int64_t rows, std::int64_t cols, const float* x, const float* v,
                          float* out) = 0;  // x * v[row]
  // out[i][j] = fma(u[i], v[j], x[i][j])
  virtual void add_outer(std::int64_t rows, std::int64_t cols, const float* u, const float* v,
                         const float* x, float* out) = 0;

  // Copies: a NaN keeps its bits.
  virtual void fill(std::int64_t n, float value, float* out) = 0;
  // x [n][width] -> [n][times][width]: each row `times` times in a row.
  virtual void repeat(std::int64_t n, std::int64_t times, std::int64_t width, const float* x,
                      float* out) = 0;

  // t [n] -> [n][width]: cos(t f_i) for i < width/2, then sin(t f_i), f_i = 10000^(-i / (width/2)):
  // angles and functions in binary64 (spec/binary64.h), each result rounded once (Vaswani
  // et al. 2017).
  virtual void time_embedding(std::int64_t n, std::int64_t width, const float* t, float* out) = 0;

  virtual void clamp(std::int64_t n, float low, float high, const float* x,
                     float* out) = 0;  // NaN stays NaN

  // Many tensors, each in place: clamp; scale by spec::clip_factor of limit and the norm of all
  // `count` squares, or nothing.
  virtual void clip_all(float limit, std::int64_t count, const float* squares,
                        std::span<const std::span<float>> tensors) = 0;
  virtual void clamp_all(float low, float high, std::span<const std::span<float>> tensors) = 0;

  // Exact integer <-> float: image bytes. byte/127.5 - 1 as fma(float(b), 2/255 rounded, -1); back:
  // floor(fma(clamp(x,-1,1), 127.5, 128)) limited to 255.
  virtual void from_bytes(std::int64_t n, const std::uint8_t* bytes, float* out) = 0;
  virtual void to_bytes(std::int64_t n, const float* x, std::uint8_t* out) = 0;

 protected:
  ~Elementwise() = default;
};

}  // namespace lockstep::numerics
