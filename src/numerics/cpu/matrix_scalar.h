// Private: gemm.h and conv.h word for word, one float at a time. What the SIMD code must equal.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::numerics {

// Rows [begin, end) of one matrix.
void gemm_scalar(std::int64_t begin, std::int64_t end, std::int64_t n, std::int64_t depth,
                 const Operand& a, const Operand& b, const float* bias, const Output& c);

// Rows [begin, end) of the n*out_h rows of y.
void conv2d_scalar(const ConvShape& s, std::int64_t begin, std::int64_t end, const float* x,
                   const float* w, const float* bias, float* y);

// Rows [begin, end) of the n*h rows of dx.
void conv2d_input_grad_scalar(const ConvShape& s, std::int64_t begin, std::int64_t end,
                              const float* dy, const float* w, const float* bias, float* dx);

// Rows [begin, end) of the kh*kw*in rows of dw, of one lane: samples [first, first+samples).
void conv2d_weight_grad_scalar(const ConvShape& s, std::int64_t first, std::int64_t samples,
                               std::int64_t begin, std::int64_t end, const float* x,
                               const float* dy, float* dw);

}  // namespace lockstep::numerics
