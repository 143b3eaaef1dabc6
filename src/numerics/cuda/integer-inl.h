// Private: integer products for CUDA (integer.h): operands are rounded (round-inl.h), then
// multiplied on tensor cores (integer_tile-inl.h).
#pragma once

#include "numerics/cuda/elementwise-inl.h"
#include "numerics/cuda/integer_tile-inl.h"
#include "numerics/cuda/norm-inl.h"
#include "numerics/cuda/round-inl.h"

namespace lockstep::numerics::cuda {

// A linear layer's image is a column of pixels; as a row it counts with fewer carries.
inline ConvShape as_row(ConvShape s) {
  LOCKSTEP_ASSERT(s.n * s.h < std::int64_t{1} << 31 && s.n * s.out_h() < std::int64_t{1} << 31,
                  "more lines of pixels than 32 bits count");
  if (s.kh == 1 && s.kw == 1 && s.stride == 1 && s.pad == 0) {
    s.w *= s.h;
    s.h = 1;
  }
  return s;
}

inline std::int32_t narrow(std::int64_t n) {
  LOCKSTEP_ASSERT(n >= -(std::int64_t{1} << 31) && n < std::int64_t{1} << 31,
                  "no image is so large");
  return static_cast<std::int32_t>(n);
}

inline Axis forward_axis(std::int64_t size, std::int64_t out, std::int64_t taps,
                         const ConvShape& s) {
  return {narrow(size), narrow(out), narrow(taps), narrow(-s.pad), narrow(s.stride), 1};
}

inline Pixels input_of(const ConvShape& s, const std::int16_t* x) {
  return {x, forward_axis(s.h, s.out_h(), s.kh, s), forward_axis(s.w, s.out_w(), s.kw, s),
          narrow(s.in)};
}

// Of an axis the pixels first, first + stride ... of the input, which all meet the taps first_tap,
// first_tap + stride ... and no others: output position `at` + i - t is where the i-th of the one
// meets the t-th of the other.
struct Phase {
  std::int64_t first, count, taps, at;
};

inline Phase phase_of(std::int64_t size, std::int64_t taps, const ConvShape& s,
                      std::int64_t first_tap) {
  const auto every = [&](std::int64_t n, std::int64_t from) {
    return n > from ? (n - from + s.stride - 1) / s.stride : 0;
  };
  const std::int64_t first = ((first_tap - s.pad) % s.stride + s.stride) % s.stride;
  return {first, every(size, first), every(taps, first_tap),
          (first + s.pad - first_tap) / s.stride};
}

inline Axis phase_axis(const Phase& p, std::int64_t out) {
  // At least one tap, so that k can be counted; without one there is no k.
  return {narrow(out), narrow(p.count), narrow(p.taps > 0 ? p.taps : 1), narrow(p.at), 1, -1};
}

inline bool wide_channels(const ConvShape& s, const Rounded& u, const Rounded& v) {
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 16 == 0; };
  return s.in % 8 == 0 && s.out % 8 == 0 && aligned(u.q) && aligned(v.q);
}

// Results of a forward product.
struct ForwardRows {
  const std::int32_t* of_x;
  const std::int32_t* of_w;
  Added added;
  float* y;
  std::int64_t positions, out;

  LOCKSTEP_DEVICE auto row(std::int64_t, std::int64_t i) const {
    const std::int64_t sample = i / positions;
    const std::int32_t exponent_x = of_x[sample], exponent_w = *of_w;
    const float* const rows = added.rows == nullptr ? nullptr : added.rows + sample * out;
    return [=, this](std::int64_t j, std::int64_t sum) {
      float value = spec::product_of(sum, exponent_x, exponent_w);
      if (added.bias != nullptr) value = value + added.bias[j];
      if (rows != nullptr) value = canonical(value + rows[j]);
      if (added.values != nullptr) value = canonical(added.values[i * out + j] + value);
      y[i * out + j] = value;
    };
  }
};

// Results of an input gradient: the pixels of a phase of each axis.
struct InputGradRows {
  const std::int32_t* of_dy;
  const std::int32_t* of_w;
  const float* bias;
  float* dx;
  Phase y, x;
  std::int64_t h, w, in, stride;

  LOCKSTEP_DEVICE auto row(std::int64_t, std::int64_t i) const {
    const std::int64_t line = i / x.count, sample = line / y.count;
    const std::int64_t at_y = y.first + line % y.count * stride;
    const std::int64_t at_x = x.first + i % x.count * stride;
    float* const to = dx + ((sample * h + at_y) * w + at_x) * in;
    const std::int32_t exponent_dy = of_dy[sample], exponent_w = *of_w;
    const float* const add = bias;
    return [=](std::int64_t j, std::int64_t sum) {
      const float value = spec::product_of(sum, exponent_dy, exponent_w);
      to[j] = add == nullptr ? value : value + add[j];
    };
  }
};

// Results of a weight gradient: of sample z.
struct WeightGradRows {
  const std::int32_t* of_x;
  const std::int32_t* of_dy;
  float* products;
  std::int64_t taps, out;

  LOCKSTEP_DEVICE auto row(std::int64_t z, std::int64_t i) const {
    float* const to = products + (z * taps + i) * out;
    const std::int32_t exponent_x = of_x[z], exponent_dy = of_dy[z];
    return [=](std::int64_t j, std::int64_t sum) {
      to[j] = spec::product_of(sum, exponent_x, exponent_dy);
    };
  }
};

template <class Gpu>
void Device<Gpu>::integer_conv2d(const ConvShape& shape, const Rounded& x, const Rounded& w,
                                 const Added& added, float* y) {
  const ConvShape s = as_row(shape);
  const std::int64_t positions = s.out_h() * s.out_w(), depth = s.kh * s.kw * s.in;
  launch_integers(*gpu_, {1, s.n * positions, s.out, depth}, wide_channels(s, x, w),
                  PatchRows{input_of(s, x.q)}, MatrixColumns{w.q, narrow(s.out), narrow(depth)},
                  ForwardRows{x.exponents, w.exponents, added, y, positions, s.out});
}

template <class Gpu>
void Device<Gpu>::integer_conv2d_input_grad(const ConvShape& shape, const Rounded& dy,
                                            const Rounded& w, const float* bias, float* dx) {
  const ConvShape s = as_row(shape);
  must_move_less_than(s.kh * s.kw * s.in * s.out);
  for (std::int64_t ky = 0; ky < s.stride; ++ky) {
    for (std::int64_t kx = 0; kx < s.stride; ++kx) {
      const Phase py = phase_of(s.h, s.kh, s, ky), px = phase_of(s.w, s.kw, s, kx);
      const Axis ay = phase_axis(py, s.out_h()), ax = phase_axis(px, s.out_w());
      launch_integers(
          *gpu_, {1, s.n * py.count * px.count, s.in, py.taps * px.taps * s.out},
          wide_channels(s, dy, w), PatchRows{Pixels{dy.q, ay, ax, narrow(s.out)}},
          WeightRows{w.q, narrow(s.kw), narrow(s.in), narrow(s.out), narrow(ky), narrow(kx),
                     narrow(s.stride), Radices(narrow(s.out), ax.taps)},
          InputGradRows{dy.exponents, w.exponents, bias, dx, py, px, s.h, s.w, s.in, s.stride});
    }
  }
}

template <class Gpu>
void Device<Gpu>::integer_conv2d_weight_grad(const ConvShape& shape, const LaneBlocks& lanes,
                                             const Rounded& x, const Rounded& dy, float* dw) {
  const ConvShape s = as_row(shape);
  const std::int64_t positions = s.out_h() * s.out_w(), taps = s.kh * s.kw * s.in;
  const Scratch<Gpu, float> products(*gpu_, lanes.samples() * taps * s.out);
  launch_integers(*gpu_, {lanes.samples(), taps, s.out, positions}, wide_channels(s, x, dy),
                  PatchColumns{input_of(s, x.q)},
                  MatrixColumns{dy.q, narrow(s.out), narrow(positions)},
                  WeightGradRows{x.exponents, dy.exponents, products.data(), taps, s.out});
  const std::int64_t width = taps * s.out;
  tree_over_lanes(lanes, width,
                  OverSamples<InRows>{lanes.samples_per_lane, width, {products.data()}}, dw);
}

}  // namespace lockstep::numerics::cuda
