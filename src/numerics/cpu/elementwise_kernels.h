// Private: the element-wise kernels of one instruction set. Every NaN that they store is
// 0x7fc00000.
#pragma once

#include <cstdint>

#include "lockstep/numerics/elementwise.h"
#include "lockstep/numerics/isa.h"

namespace lockstep::numerics {

struct ElementwiseKernels {
  void (*unary[kUnaryCount])(std::int64_t n, const float* x, float* out);
  void (*unary_backward[kUnaryCount])(std::int64_t n, const float* x, const float* dy, float* out);
  void (*leaky_relu)(std::int64_t n, float slope, const float* x, float* out);
  void (*leaky_relu_backward)(std::int64_t n, float slope, const float* x, const float* dy,
                              float* out);
  void (*binary[kBinaryCount])(std::int64_t n, const float* a, const float* b, float* out);
  void (*scale)(std::int64_t n, float factor, const float* x, float* out);
  void (*scale_add)(std::int64_t n, float factor, const float* x, const float* y, float* out);
  void (*combine)(std::int64_t n, float a, const float* x, float b, const float* y, float* out);
  // x [rows][c], in place: row is added to each.
  void (*add_row)(std::int64_t rows, std::int64_t c, const float* row, float* x);
  bool (*all_finite)(std::int64_t n, const float* x);
  void (*clamp)(std::int64_t n, float low, float high, const float* x, float* out);
};

extern const ElementwiseKernels kElementwiseScalar;
const ElementwiseKernels& elementwise_kernels(Isa isa);

// One implementation: images are small. In elementwise_scalar.cpp.
void from_bytes_range(std::int64_t n, const std::uint8_t* bytes, float* out);
void to_bytes_range(std::int64_t n, const float* x, std::uint8_t* out);

}  // namespace lockstep::numerics
