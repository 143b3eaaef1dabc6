// Private: element-wise operations for CUDA (elementwise.h), a thread an element.
#pragma once

#include "lockstep/core/error.h"
#include "lockstep/numerics/spec/binary64.h"
#include "lockstep/numerics/spec/scalar.h"
#include "numerics/cuda/device.h"
#include "numerics/cuda/tensors-inl.h"

namespace lockstep::numerics::cuda {

LOCKSTEP_DEVICE inline float canonical(float x) {
  return x == x ? x : spec::bit_cast<float>(0x7fc00000U);
}

LOCKSTEP_DEVICE inline float clamped(float low, float high, float x) {
  return canonical(x < low ? low : x > high ? high : x);
}

// One kernel for each function of the specification.
template <float (*kFunction)(float)>
struct Map {
  const float* x;
  float* out;
  LOCKSTEP_DEVICE void operator()(std::int64_t i) const { out[i] = canonical(kFunction(x[i])); }
};

template <float (*kDerivative)(float)>
struct MapBackward {
  const float* x;
  const float* dy;
  float* out;
  LOCKSTEP_DEVICE void operator()(std::int64_t i) const {
    out[i] = canonical(dy[i] * kDerivative(x[i]));
  }
};

template <class Gpu>
void Device<Gpu>::unary(Unary op, std::int64_t n, const float* x, float* out) {
  switch (op) {
    case Unary::kExp:
      return each(n, Map<scalar::exp>{x, out});
    case Unary::kLog:
      return each(n, Map<scalar::log>{x, out});
    case Unary::kSin:
      return each(n, Map<scalar::sin>{x, out});
    case Unary::kCos:
      return each(n, Map<scalar::cos>{x, out});
    case Unary::kTanh:
      return each(n, Map<scalar::tanh>{x, out});
    case Unary::kErf:
      return each(n, Map<scalar::erf>{x, out});
    case Unary::kSqrt:
      return each(n, Map<scalar::sqrt>{x, out});
    case Unary::kRsqrt:
      return each(n, Map<scalar::rsqrt>{x, out});
    case Unary::kNegate:
      return each(n, Map<scalar::negate>{x, out});
    case Unary::kSquare:
      return each(n, Map<scalar::square>{x, out});
    case Unary::kAbs:
      return each(n, Map<scalar::abs>{x, out});
    case Unary::kRelu:
      return each(n, Map<scalar::relu>{x, out});
    case Unary::kSigmoid:
      return each(n, Map<scalar::sigmoid>{x, out});
    case Unary::kSilu:
      return each(n, Map<scalar::silu>{x, out});
    case Unary::kSoftplus:
      return each(n, Map<scalar::softplus>{x, out});
    case Unary::kGelu:
      return each(n, Map<scalar::gelu>{x, out});
    case Unary::kGeluTanh:
      return each(n, Map<scalar::gelu_tanh>{x, out});
  }
}

template <class Gpu>
void Device<Gpu>::unary_backward(Unary op, std::int64_t n, const float* x, const float* dy,
                                 float* out) {
  switch (op) {
    case Unary::kExp:
      return each(n, MapBackward<scalar::exp>{x, dy, out});
    case Unary::kLog:
      return each(n, MapBackward<scalar::log_derivative>{x, dy, out});
    case Unary::kSin:
      return each(n, MapBackward<scalar::cos>{x, dy, out});
    case Unary::kCos:
      return each(n, MapBackward<scalar::cos_derivative>{x, dy, out});
    case Unary::kTanh:
      return each(n, MapBackward<scalar::tanh_derivative>{x, dy, out});
    case Unary::kErf:
      return each(n, MapBackward<scalar::erf_derivative>{x, dy, out});
    case Unary::kSqrt:
      return each(n, MapBackward<scalar::sqrt_derivative>{x, dy, out});
    case Unary::kRsqrt:
      return each(n, MapBackward<scalar::rsqrt_derivative>{x, dy, out});
    case Unary::kNegate:
      return each(n, MapBackward<scalar::negate_derivative>{x, dy, out});
    case Unary::kSquare:
      return each(n, MapBackward<scalar::square_derivative>{x, dy, out});
    case Unary::kAbs:
      return each(n, MapBackward<scalar::abs_derivative>{x, dy, out});
    case Unary::kRelu:
      return each(n, MapBackward<scalar::relu_derivative>{x, dy, out});
    case Unary::kSigmoid:
      return each(n, MapBackward<scalar::sigmoid_derivative>{x, dy, out});
    case Unary::kSilu:
      return each(n, MapBackward<scalar::silu_derivative>{x, dy, out});
    case Unary::kSoftplus:
      return each(n, MapBackward<scalar::sigmoid>{x, dy, out});
    case Unary::kGelu:
      return each(n, MapBackward<scalar::gelu_derivative>{x, dy, out});
    case Unary::kGeluTanh:
      return each(n, MapBackward<scalar::gelu_tanh_derivative>{x, dy, out});
  }
}

template <class Gpu>
void Device<Gpu>::leaky_relu(std::int64_t n, float slope, const float* x, float* out) {
  each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = canonical(scalar::leaky_relu(slope, x[i]));
  });
}

template <class Gpu>
void Device<Gpu>::leaky_relu_backward(std::int64_t n, float slope, const float* x, const float* dy,
                                      float* out) {
  each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = canonical(dy[i] * scalar::leaky_relu_derivative(slope, x[i]));
  });
}

template <class Gpu>
void Device<Gpu>::binary(Binary op, std::int64_t n, const float* a, const float* b, float* out) {
  switch (op) {
    case Binary::kAdd:
      return each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = canonical(a[i] + b[i]); });
    case Binary::kSubtract:
      return each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = canonical(a[i] - b[i]); });
    case Binary::kMultiply:
      return each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = canonical(a[i] * b[i]); });
    case Binary::kDivide:
      return each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = canonical(a[i] / b[i]); });
  }
}

template <class Gpu>
void Device<Gpu>::scale(std::int64_t n, float factor, const float* x, float* out) {
  each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = canonical(factor * x[i]); });
}

template <class Gpu>
void Device<Gpu>::scale_add(std::int64_t n, float factor, const float* x, const float* y,
                            float* out) {
  each(n,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = canonical(spec::fma(factor, x[i], y[i])); });
}

template <class Gpu>
void Device<Gpu>::combine(std::int64_t n, float a, const float* x, float b, const float* y,
                          float* out) {
  each(n,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = canonical(spec::fma(a, x[i], b * y[i])); });
}

template <class Gpu>
void Device<Gpu>::combine_rows(std::int64_t rows, std::int64_t cols, const float* a, const float* x,
                               const float* b, const float* y, float* out) {
  each(rows * cols, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = canonical(spec::fma(a[i / cols], x[i], b[i / cols] * y[i]));
  });
}

template <class Gpu>
void Device<Gpu>::add_row_vector(std::int64_t rows, std::int64_t cols, const float* x,
                                 const float* v, float* out) {
  each(rows * cols,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = canonical(x[i] + v[i % cols]); });
}

template <class Gpu>
void Device<Gpu>::scale_rows(std::int64_t rows, std::int64_t cols, const float* x, const float* v,
                             float* out) {
  each(rows * cols,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = canonical(v[i / cols] * x[i]); });
}

template <class Gpu>
void Device<Gpu>::add_outer(std::int64_t rows, std::int64_t cols, const float* u, const float* v,
                            const float* x, float* out) {
  each(rows * cols, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = canonical(spec::fma(u[i / cols], v[i % cols], x[i]));
  });
}

template <class Gpu>
void Device<Gpu>::add_channel_bias(std::int64_t n, std::int64_t spatial, std::int64_t c,
                                   const float* x, const float* e, float* out) {
  each(n * spatial * c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = canonical(x[i] + e[i / (spatial * c) * c + i % c]);
  });
}

template <class Gpu>
void Device<Gpu>::fill(std::int64_t n, float value, float* out) {
  each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = value; });
}

template <class Gpu>
void Device<Gpu>::repeat(std::int64_t n, std::int64_t times, std::int64_t width, const float* x,
                         float* out) {
  each(n * times * width, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = x[i / (times * width) * width + i % width];
  });
}

template <class Gpu>
void Device<Gpu>::time_embedding(std::int64_t n, std::int64_t width, const float* t, float* out) {
  LOCKSTEP_ASSERT(width % 2 == 0 && width > 0, std::to_string(width));
  const std::int64_t half = width / 2;
  each(n * half, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t row = i / half, k = i % half;
    const double frequency =
        binary64::exp(-binary64::log(10000.0) * static_cast<double>(k) / static_cast<double>(half));
    const double angle = static_cast<double>(t[row]) * frequency;
    // A conversion keeps no NaN's bits here.
    out[row * width + k] = canonical(static_cast<float>(binary64::cos(angle)));
    out[row * width + half + k] = canonical(static_cast<float>(binary64::sin(angle)));
  });
}

template <class Gpu>
void Device<Gpu>::clamp(std::int64_t n, float low, float high, const float* x, float* out) {
  each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = clamped(low, high, x[i]); });
}

template <class Gpu>
void Device<Gpu>::clamp_all(float low, float high, std::span<const std::span<float>> tensors) {
  each_of_all(*gpu_, tensors,
              [=] LOCKSTEP_DEVICE(float* x, std::int64_t i) { x[i] = clamped(low, high, x[i]); });
}

template <class Gpu>
void Device<Gpu>::from_bytes(std::int64_t n, const std::uint8_t* bytes, float* out) {
  each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    out[i] = spec::fma(static_cast<float>(bytes[i]), 2.0F / 255.0F, -1.0F);
  });
}

template <class Gpu>
void Device<Gpu>::to_bytes(std::int64_t n, const float* x, std::uint8_t* out) {
  each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const float clamped = !(x[i] > -1.0F) ? -1.0F : x[i] > 1.0F ? 1.0F : x[i];
    const int level = static_cast<int>(spec::fma(clamped, 127.5F, 128.0F));
    out[i] = static_cast<std::uint8_t>(level > 255 ? 255 : level);
  });
}

}  // namespace lockstep::numerics::cuda
