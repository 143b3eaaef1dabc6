// Private: integer.h word for word, one value at a time. What the SIMD code must equal.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/integer.h"

namespace lockstep::numerics {

// As IntegerKernels::largest and round (integer_tile.h).
std::uint32_t largest_scalar(std::int64_t n, const float* x);
void round_scalar(std::int64_t rows, std::int64_t c, float factor, const float* x,
                  std::int64_t q_row, std::int16_t* q);

// Rows [begin, end) of the n*out_h rows of y.
void integer_conv2d_scalar(const ConvShape& s, std::int64_t begin, std::int64_t end,
                           const Rounded& x, const Rounded& w, const float* bias, float* y);

// Rows [begin, end) of the n*h rows of dx.
void integer_conv2d_input_grad_scalar(const ConvShape& s, std::int64_t begin, std::int64_t end,
                                      const Rounded& dy, const Rounded& w, const float* bias,
                                      float* dx);

// Rows [begin, end) of the kh*kw*in rows of dw, of one lane: samples [first, first+samples).
void integer_conv2d_weight_grad_scalar(const ConvShape& s, std::int64_t first, std::int64_t samples,
                                       std::int64_t begin, std::int64_t end, const Rounded& x,
                                       const Rounded& dy, float* dw);

}  // namespace lockstep::numerics
