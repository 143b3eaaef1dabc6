// Private: element-wise operations for CUDA (elementwise.h).
#pragma once

#include "lockstep/core/error.h"
#include "lockstep/numerics/spec/binary64.h"
#include "lockstep/numerics/spec/scalar.h"
#include "numerics/cuda/device.h"
#include "numerics/cuda/divisor.h"
#include "numerics/cuda/elements.h"
#include "numerics/cuda/tensors-inl.h"

namespace lockstep::numerics::cuda {

LOCKSTEP_DEVICE inline float canonical(float x) {
  return x == x ? x : spec::bit_cast<float>(0x7fc00000U);
}

LOCKSTEP_DEVICE inline float clamped(float low, float high, float x) {
  return canonical(x < low ? low : x > high ? high : x);
}

// What lies at an element's place, in one tensor, or in two.
struct Of {
  const float* x;
  LOCKSTEP_DEVICE float operator()(std::int64_t i) const { return x[i]; }
};
struct OfTwo {
  const float* x;
  const float* y;
  LOCKSTEP_DEVICE Floats<2> operator()(std::int64_t i) const { return {x[i], y[i]}; }
};

// One kernel for each function of the specification.
template <float (*kFunction)(float)>
struct Map {
  LOCKSTEP_DEVICE float operator()(float x) const { return canonical(kFunction(x)); }
};

template <float (*kDerivative)(float)>
struct MapBackward {
  LOCKSTEP_DEVICE float operator()(const Floats<2>& x_dy) const {
    return canonical(x_dy.of[1] * kDerivative(x_dy.of[0]));
  }
};

template <class Gpu>
void Device<Gpu>::unary(Unary op, std::int64_t n, const float* x, float* out) {
  switch (op) {
#define LOCKSTEP_ROW(function, derivative, Function, Derivative) \
  case Unary::k##Function:                                       \
    return elements(*gpu_, n, out, Of{x}, Map<scalar::function>());
    LOCKSTEP_UNARY(LOCKSTEP_ROW)
#undef LOCKSTEP_ROW
  }
}

template <class Gpu>
void Device<Gpu>::unary_backward(Unary op, std::int64_t n, const float* x, const float* dy,
                                 float* out) {
  switch (op) {
#define LOCKSTEP_ROW(function, derivative, Function, Derivative) \
  case Unary::k##Function:                                       \
    return elements(*gpu_, n, out, OfTwo{x, dy}, MapBackward<scalar::derivative>());
    LOCKSTEP_UNARY(LOCKSTEP_ROW)
#undef LOCKSTEP_ROW
  }
}

template <class Gpu>
void Device<Gpu>::leaky_relu(std::int64_t n, float slope, const float* x, float* out) {
  elements(*gpu_, n, out, Of{x}, [=] LOCKSTEP_DEVICE(float value) {
    return canonical(scalar::leaky_relu(slope, value));
  });
}

template <class Gpu>
void Device<Gpu>::leaky_relu_backward(std::int64_t n, float slope, const float* x, const float* dy,
                                      float* out) {
  elements(*gpu_, n, out, OfTwo{x, dy}, [=] LOCKSTEP_DEVICE(const Floats<2>& v) {
    return canonical(v.of[1] * scalar::leaky_relu_derivative(slope, v.of[0]));
  });
}

template <class Gpu>
void Device<Gpu>::binary(Binary op, std::int64_t n, const float* a, const float* b, float* out) {
  const OfTwo both{a, b};
  switch (op) {
    case Binary::kAdd:
      return elements(*gpu_, n, out, both, [] LOCKSTEP_DEVICE(const Floats<2>& v) {
        return canonical(v.of[0] + v.of[1]);
      });
    case Binary::kSubtract:
      return elements(*gpu_, n, out, both, [] LOCKSTEP_DEVICE(const Floats<2>& v) {
        return canonical(v.of[0] - v.of[1]);
      });
    case Binary::kMultiply:
      return elements(*gpu_, n, out, both, [] LOCKSTEP_DEVICE(const Floats<2>& v) {
        return canonical(v.of[0] * v.of[1]);
      });
    case Binary::kDivide:
      return elements(*gpu_, n, out, both, [] LOCKSTEP_DEVICE(const Floats<2>& v) {
        return canonical(v.of[0] / v.of[1]);
      });
  }
}

template <class Gpu>
void Device<Gpu>::scale(std::int64_t n, float factor, const float* x, float* out) {
  elements(*gpu_, n, out, Of{x},
           [=] LOCKSTEP_DEVICE(float value) { return canonical(factor * value); });
}

template <class Gpu>
void Device<Gpu>::scale_add(std::int64_t n, float factor, const float* x, const float* y,
                            float* out) {
  elements(*gpu_, n, out, OfTwo{x, y}, [=] LOCKSTEP_DEVICE(const Floats<2>& v) {
    return canonical(spec::fma(factor, v.of[0], v.of[1]));
  });
}

template <class Gpu>
void Device<Gpu>::combine(std::int64_t n, float a, const float* x, float b, const float* y,
                          float* out) {
  elements(*gpu_, n, out, OfTwo{x, y}, [=] LOCKSTEP_DEVICE(const Floats<2>& v) {
    return canonical(spec::fma(a, v.of[0], b * v.of[1]));
  });
}

template <class Gpu>
void Device<Gpu>::combine_rows(std::int64_t rows, std::int64_t cols, const float* a, const float* x,
                               const float* b, const float* y, float* out) {
  const Divisor by(cols, rows * cols);
  elements(
      *gpu_, rows * cols, out,
      [=] LOCKSTEP_DEVICE(std::int64_t i) {
        const std::int64_t row = by.quotient(i);
        return Floats<4>{a[row], x[i], b[row], y[i]};
      },
      [] LOCKSTEP_DEVICE(const Floats<4>& v) {
        return canonical(spec::fma(v.of[0], v.of[1], v.of[2] * v.of[3]));
      });
}

template <class Gpu>
void Device<Gpu>::scale_rows(std::int64_t rows, std::int64_t cols, const float* x, const float* v,
                             float* out) {
  const Divisor by(cols, rows * cols);
  elements(
      *gpu_, rows * cols, out,
      [=] LOCKSTEP_DEVICE(std::int64_t i) {
        return Floats<2>{v[by.quotient(i)], x[i]};
      },
      [] LOCKSTEP_DEVICE(const Floats<2>& both) { return canonical(both.of[0] * both.of[1]); });
}

template <class Gpu>
void Device<Gpu>::add_outer(std::int64_t rows, std::int64_t cols, const float* u, const float* v,
                            const float* x, float* out) {
  const Divisor by(cols, rows * cols);
  elements(
      *gpu_, rows * cols, out,
      [=] LOCKSTEP_DEVICE(std::int64_t i) {
        const std::int64_t row = by.quotient(i);
        return Floats<3>{u[row], v[i - row * cols], x[i]};
      },
      [] LOCKSTEP_DEVICE(const Floats<3>& all) {
        return canonical(spec::fma(all.of[0], all.of[1], all.of[2]));
      });
}

template <class Gpu>
void Device<Gpu>::fill(std::int64_t n, float value, float* out) {
  each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) { out[i] = value; });
}

template <class Gpu>
void Device<Gpu>::repeat(std::int64_t n, std::int64_t times, std::int64_t width, const float* x,
                         float* out) {
  const std::int64_t all = n * times * width;
  const Divisor by_rows(times * width, all), by_width(width, all);
  elements(
      *gpu_, all, out,
      [=] LOCKSTEP_DEVICE(std::int64_t i) {
        return x[by_rows.quotient(i) * width + by_width.remainder(i)];
      },
      Itself());
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
  elements(*gpu_, n, out, Of{x},
           [=] LOCKSTEP_DEVICE(float value) { return clamped(low, high, value); });
}

struct ClampTile {
  float low, high;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(const Thread& t, const TensorTile<float>& tile) const {
    change(t, tile, [one = *this](float x) { return clamped(one.low, one.high, x); });
  }
};

template <class Gpu>
void Device<Gpu>::clamp_all(float low, float high, std::span<const std::span<float>> tensors) {
  each_of_all(*gpu_, tensors, ClampTile{low, high});
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
