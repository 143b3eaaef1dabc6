// Private: integer products for CUDA (integer.h): operands are rounded (round-inl.h), then
// multiplied on tensor cores (integer_tile-inl.h).
#pragma once

#include "numerics/cuda/elementwise-inl.h"
#include "numerics/cuda/integer_tile-inl.h"
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

// Whether the slices of an operand lie apart: of the input; of the output, or of weights.
inline bool input_apart(const ConvShape& s, const Rounded& x) {
  return slices_lie_apart(x.q, s.in);
}
inline bool output_apart(const ConvShape& s, const Rounded& dy_or_w) {
  return slices_lie_apart(dy_or_w.q, s.out);
}

inline Pixels input_of(const ConvShape& s, const Rounded& x) {
  return {x.q, input_apart(s, x), forward_axis(s.h, s.out_h(), s.kh, s),
          forward_axis(s.w, s.out_w(), s.kw, s), narrow(s.in)};
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

// One value or four neighbours.
template <int kCount>
LOCKSTEP_DEVICE inline Vector<float, kCount>& several(float* to) {
  return *reinterpret_cast<Vector<float, kCount>*>(to);
}
template <int kCount>
LOCKSTEP_DEVICE inline const Vector<float, kCount>& several(const float* of) {
  return *reinterpret_cast<const Vector<float, kCount>*>(of);
}

// Results of a forward product.
struct ForwardRows {
  static constexpr bool kInTurn = false;

  bool in_fours;
  const std::int32_t* of_x;
  const std::int32_t* of_w;
  Added added;
  float* y;
  std::int64_t positions, out;

  struct Row {
    spec::Scale scale;
    const float* bias;
    const float* rows;
    const float* values;
    float* y;

    template <int kCount>
    LOCKSTEP_DEVICE void put(std::int64_t j, Vector<float, kCount> results) const {
      Vector<float, kCount> of_bias{}, of_rows{}, of_values{};
      if (bias != nullptr) of_bias = several<kCount>(bias + j);
      if (rows != nullptr) of_rows = several<kCount>(rows + j);
      if (values != nullptr) of_values = several<kCount>(values + j);
      LOCKSTEP_UNROLL
      for (int e = 0; e < kCount; ++e) {
        float& value = results.of[e];
        if (bias != nullptr) value = value + of_bias.of[e];
        if (rows != nullptr) value = canonical(value + of_rows.of[e]);
        if (values != nullptr) value = canonical(of_values.of[e] + value);
      }
      several<kCount>(y + j) = results;
    }
  };

  LOCKSTEP_DEVICE Row row(std::int64_t, std::int64_t i) const {
    const std::int64_t sample =
        static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(positions);
    return {spec::scale_of(of_x[sample], *of_w), added.bias,
            added.rows == nullptr ? nullptr : added.rows + sample * out,
            added.values == nullptr ? nullptr : added.values + i * out, y + i * out};
  }
};

// Results of an input gradient: the pixels of a phase of each axis.
struct InputGradRows {
  static constexpr bool kInTurn = false;

  bool in_fours;
  const std::int32_t* of_dy;
  const std::int32_t* of_w;
  const float* bias;
  float* dx;
  Phase y, x;
  std::int64_t h, w, in, stride;

  struct Row {
    spec::Scale scale;
    const float* bias;
    float* to;

    template <int kCount>
    LOCKSTEP_DEVICE void put(std::int64_t j, Vector<float, kCount> results) const {
      if (bias != nullptr) {
        const Vector<float, kCount> of_bias = several<kCount>(bias + j);
        LOCKSTEP_UNROLL
        for (int e = 0; e < kCount; ++e) results.of[e] = results.of[e] + of_bias.of[e];
      }
      several<kCount>(to + j) = results;
    }
  };

  LOCKSTEP_DEVICE Row row(std::int64_t, std::int64_t i) const {
    // Of 32 bits: a GPU divides those of 64 by a function.
    const auto n = static_cast<std::uint32_t>(i), across = static_cast<std::uint32_t>(x.count),
               down = static_cast<std::uint32_t>(y.count);
    const std::uint32_t line = n / across, sample = line / down;
    const std::int64_t at_y = y.first + (line - sample * down) * stride;
    const std::int64_t at_x = x.first + (n - line * across) * stride;
    return {spec::scale_of(of_dy[sample], *of_w), bias, dx + ((sample * h + at_y) * w + at_x) * in};
  }
};

// Results of a weight gradient: of `in_turn` samples for each of [..][taps][out].
struct WeightGradRows {
  static constexpr bool kInTurn = true;

  bool in_fours;
  const std::int32_t* of_x;
  const std::int32_t* of_dy;
  float* products;
  std::int64_t taps, out;
  std::int32_t in_turn;

  struct Row {
    float* to;

    template <int kCount>
    LOCKSTEP_DEVICE void put(std::int64_t j, const Vector<float, kCount>& results) const {
      several<kCount>(to + j) = results;
    }
  };

  LOCKSTEP_DEVICE spec::Scale scale(std::int64_t z, std::int32_t turn) const {
    const std::int64_t sample = z * in_turn + turn;
    return spec::scale_of(of_x[sample], of_dy[sample]);
  }
  LOCKSTEP_DEVICE Row row(std::int64_t z, std::int64_t i) const {
    return {products + (z * taps + i) * out};
  }
};

template <class Gpu>
void Device<Gpu>::integer_conv2d(const ConvShape& shape, const Rounded& x, const Rounded& w,
                                 const Added& added, float* y) {
  const ConvShape s = as_row(shape);
  const std::int64_t positions = s.out_h() * s.out_w(), depth = s.kh * s.kw * s.in;
  const bool fours = in_fours(y, {s.out}) && in_fours(added.bias, {}) && in_fours(added.rows, {}) &&
                     in_fours(added.values, {});
  launch_integers(*gpu_, {1, s.n * positions, s.out, depth},
                  input_apart(s, x) && output_apart(s, w), PatchRows{input_of(s, x)},
                  MatrixColumns{w.q, output_apart(s, w), narrow(s.out), narrow(depth)},
                  ForwardRows{fours, x.exponents, w.exponents, added, y, positions, s.out});
}

template <class Gpu>
void Device<Gpu>::integer_conv2d_input_grad(const ConvShape& shape, const Rounded& dy,
                                            const Rounded& w, const float* bias, float* dx) {
  const ConvShape s = as_row(shape);
  must_move_less_than(s.kh * s.kw * s.in * s.out);
  const bool dy_apart = output_apart(s, dy), w_apart = output_apart(s, w);
  const bool fours = in_fours(dx, {s.in}) && in_fours(bias, {});
  for (std::int64_t ky = 0; ky < s.stride; ++ky) {
    for (std::int64_t kx = 0; kx < s.stride; ++kx) {
      const Phase py = phase_of(s.h, s.kh, s, ky), px = phase_of(s.w, s.kw, s, kx);
      const Axis ay = phase_axis(py, s.out_h()), ax = phase_axis(px, s.out_w());
      launch_integers(
          *gpu_, {1, s.n * py.count * px.count, s.in, py.taps * px.taps * s.out},
          s.in % kApart == 0 && dy_apart && w_apart,
          PatchRows{Pixels{dy.q, dy_apart, ay, ax, narrow(s.out)}},
          WeightRows{w.q, w_apart, narrow(s.kw), narrow(s.in), narrow(s.out), narrow(ky),
                     narrow(kx), narrow(s.stride), Radices(narrow(s.out), ax.taps)},
          InputGradRows{fours, dy.exponents, w.exponents, bias, dx, py, px, s.h, s.w, s.in,
                        s.stride});
    }
  }
}

template <class Gpu>
void Device<Gpu>::integer_conv2d_weight_grad(const ConvShape& shape, const LaneBlocks& lanes,
                                             const Rounded& x, const Rounded& dy, float* dw) {
  const ConvShape s = as_row(shape);
  const std::int64_t positions = s.out_h() * s.out_w(), taps = s.kh * s.kw * s.in;
  const std::int64_t width = taps * s.out, samples = lanes.samples_per_lane;
  const bool wide = input_apart(s, x) && output_apart(s, dy);
  const IntegerShape of_lanes{lanes.lane_count(), taps, s.out, positions, narrow(samples)};
  const IntegerShape of_samples{lanes.samples(), taps, s.out, positions};
  const bool in_turn = in_turn_pays(of_lanes, wide, gpu_->multiprocessors());
  const IntegerShape& shape_of = in_turn ? of_lanes : of_samples;
  const Scratch<Gpu, float> products(*gpu_, shape_of.batch * width);
  launch_integers(*gpu_, shape_of, wide, PatchColumns{input_of(s, x)},
                  MatrixColumns{dy.q, output_apart(s, dy), narrow(s.out), narrow(positions)},
                  WeightGradRows{in_fours(products.data(), {s.out}), x.exponents, dy.exponents,
                                 products.data(), taps, s.out, shape_of.in_turn});
  if (in_turn)
    tree_over_lanes(lanes, width, InRows{products.data()}, dw);
  else
    tree_over_lanes(lanes, width, OverSamples<InRows>(lanes, width, {products.data()}), dw);
}

}  // namespace lockstep::numerics::cuda
