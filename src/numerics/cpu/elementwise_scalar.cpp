#include <bit>

#include "lockstep/numerics/spec/fma_region.h"
#include "lockstep/numerics/spec/scalar.h"
#include "numerics/cpu/elementwise_kernels.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics {
namespace {

float canonical(float x) {
  return x == x ? x : std::bit_cast<float>(0x7fc00000u);
}

template <float (*kFunction)(float)>
void map(std::int64_t n, const float* x, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = canonical(kFunction(x[i]));
}

template <float (*kDerivative)(float)>
void backward(std::int64_t n, const float* x, const float* dy, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = canonical(dy[i] * kDerivative(x[i]));
}

template <float (*kOperation)(float, float)>
void map2(std::int64_t n, const float* a, const float* b, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = canonical(kOperation(a[i], b[i]));
}

float add(float a, float b) {
  return a + b;
}
float subtract(float a, float b) {
  return a - b;
}
float multiply(float a, float b) {
  return a * b;
}
float divide(float a, float b) {
  return a / b;
}

void leaky_relu_range(std::int64_t n, float slope, const float* x, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = canonical(scalar::leaky_relu(slope, x[i]));
}

void leaky_relu_backward_range(std::int64_t n, float slope, const float* x, const float* dy,
                               float* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = canonical(dy[i] * scalar::leaky_relu_derivative(slope, x[i]));
  }
}

void scale_range(std::int64_t n, float factor, const float* x, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = canonical(factor * x[i]);
}

void scale_add_range(std::int64_t n, float factor, const float* x, const float* y, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = canonical(__builtin_fmaf(factor, x[i], y[i]));
}

void combine_range(std::int64_t n, float a, const float* x, float b, const float* y, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = canonical(__builtin_fmaf(a, x[i], b * y[i]));
}

bool all_finite_range(std::int64_t n, const float* x) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(__builtin_fabsf(x[i]) <= 0x1.fffffep127f)) return false;
  }
  return true;
}

void add_row_range(std::int64_t rows, std::int64_t c, const float* row, float* x) {
  for (std::int64_t i = 0; i < rows * c; ++i) x[i] = canonical(x[i] + row[i % c]);
}

void clamp_range(std::int64_t n, float low, float high, const float* x, float* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = canonical(x[i] < low ? low : x[i] > high ? high : x[i]);
  }
}

}  // namespace

void from_bytes_range(std::int64_t n, const std::uint8_t* bytes, float* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = __builtin_fmaf(static_cast<float>(bytes[i]), 2.0f / 255.0f, -1.0f);
  }
}

// A NaN becomes 0.
void to_bytes_range(std::int64_t n, const float* x, std::uint8_t* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float clamped = !(x[i] > -1.0f) ? -1.0f : x[i] > 1.0f ? 1.0f : x[i];
    const int level = static_cast<int>(__builtin_fmaf(clamped, 127.5f, 128.0f));
    out[i] = static_cast<std::uint8_t>(level > 255 ? 255 : level);
  }
}

// In the order of Unary and Binary.
constexpr ElementwiseKernels kElementwiseScalar = {
#define LOCKSTEP_ROW(function, derivative, Function, Derivative) map<scalar::function>,
    .unary = {LOCKSTEP_UNARY(LOCKSTEP_ROW)},
#undef LOCKSTEP_ROW
#define LOCKSTEP_ROW(function, derivative, Function, Derivative) backward<scalar::derivative>,
    .unary_backward = {LOCKSTEP_UNARY(LOCKSTEP_ROW)},
#undef LOCKSTEP_ROW
    .leaky_relu = leaky_relu_range,
    .leaky_relu_backward = leaky_relu_backward_range,
    .binary = {map2<add>, map2<subtract>, map2<multiply>, map2<divide>},
    .scale = scale_range,
    .scale_add = scale_add_range,
    .combine = combine_range,
    .add_row = add_row_range,
    .all_finite = all_finite_range,
    .clamp = clamp_range,
};

}  // namespace lockstep::numerics
LOCKSTEP_FMA_END
