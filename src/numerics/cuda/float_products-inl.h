// Private: float products for CUDA (gemm.h, conv.h): by tiles where operands lie in fours
// (float_sources-inl.h) and offsets fit 31 bits, else one by one (products-inl.h).
#pragma once

#include "numerics/cuda/float_launch-inl.h"

namespace lockstep::numerics::cuda {

inline bool fits(std::int64_t most) {
  return most < (std::int64_t{1} << 30);
}
inline bool in_fours(const float* data, std::initializer_list<std::int64_t> steps) {
  bool all = reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  for (const std::int64_t step : steps) all = all && step % 4 == 0;
  return all;
}

// Offsets in a batch of matrices, and the matrices' sizes.
inline bool fits_in(std::int64_t batch, std::int64_t rows, std::int64_t cols, const Operand& x) {
  return fits(batch) && fits(rows) && fits(cols) && fits(x.batch) && fits(x.row) && fits(x.col) &&
         fits(batch * x.batch) && fits(rows * x.row) && fits(cols * x.col) &&
         fits(batch * x.batch + rows * x.row + cols * x.col);
}

inline FloatShape float_shape(std::int64_t batch, std::int64_t m, std::int64_t n,
                              std::int64_t depth) {
  return {static_cast<int>(batch), static_cast<int>(m), static_cast<int>(n),
          static_cast<int>(depth)};
}

// A row of results, and what becomes of a sum in it.
struct BiasedRow {
  float* to;
  const float* bias;
  LOCKSTEP_DEVICE float operator()(int j, float sum) const {
    return bias == nullptr ? sum : sum + bias[j];
  }
};

// data[z * batch + i * row + j], plus bias[j].
struct BiasedRows {
  float* data;
  std::int64_t batch, row_step;
  const float* bias;
  bool in_quads() const { return in_fours(data, {batch, row_step}); }
  LOCKSTEP_DEVICE BiasedRow row(int z, int i) const {
    return BiasedRow{data + z * batch + i * row_step, bias};
  }
};

struct AddedRow {
  float* to;
  const float* bias;
  const float* rows;
  const float* values;
  LOCKSTEP_DEVICE float operator()(int j, float sum) const {
    if (bias != nullptr) sum = sum + bias[j];
    if (rows != nullptr) sum = canonical(sum + rows[j]);
    if (values != nullptr) sum = canonical(values[j] + sum);
    return sum;
  }
};

// The output of a convolution, `positions` of each sample.
struct AddedRows {
  float* y;
  int positions;
  std::int64_t out;
  Added added;
  bool in_quads() const { return in_fours(y, {out}); }
  LOCKSTEP_DEVICE AddedRow row(int, int i) const {
    AddedRow row{y + i * out, added.bias, added.rows, added.values};
    if (row.rows != nullptr) row.rows += i / positions * out;
    if (row.values != nullptr) row.values += i * out;
    return row;
  }
};

// Those pixels of an image that have the same taps.
struct ParityRows {
  float* dx;
  int h, w, count_y, count_x, first_y, first_x, stride;
  std::int64_t in;
  const float* bias;
  bool in_quads() const { return in_fours(dx, {in}); }
  LOCKSTEP_DEVICE BiasedRow row(int, int i) const {
    const int y = first_y + i / count_x % count_y * stride, x = first_x + i % count_x * stride;
    const std::int64_t image = i / (count_x * count_y);
    return {dx + ((image * h + y) * w + x) * in, bias};
  }
};

template <class Gpu>
void gemm_by_elements(Gpu& gpu, const ProductShape& s, Operand a, Operand b, const float* bias,
                      Output c) {
  const auto left = [=] LOCKSTEP_DEVICE(std::int64_t z, std::int64_t i, std::int64_t k) {
    return a.data[z * a.batch + i * a.row + k * a.col];
  };
  const auto right = [=] LOCKSTEP_DEVICE(std::int64_t z, std::int64_t k, std::int64_t j) {
    return b.data[z * b.batch + k * b.row + j * b.col];
  };
  const auto result = [=] LOCKSTEP_DEVICE(std::int64_t z, std::int64_t i, std::int64_t j,
                                          float sum) {
    c.data[z * c.batch + i * c.row + j] = bias == nullptr ? sum : sum + bias[j];
  };
  launch_product<FloatChain>(gpu, s, left, right, result);
}

template <class Gpu>
void Device<Gpu>::gemm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t depth,
                       Operand a, Operand b, const float* bias, Output c) {
  const bool along_k_a = a.col == 1 && in_fours(a.data, {depth, a.row, a.batch}),
             along_i = a.row == 1 && in_fours(a.data, {m, a.col, a.batch}),
             along_k_b = b.row == 1 && in_fours(b.data, {depth, b.col, b.batch}),
             along_j = b.col == 1 && in_fours(b.data, {n, b.row, b.batch});
  const bool small = fits_in(batch, m, depth, a) && fits_in(batch, depth, n, b) && depth > 0;
  if (!small || !(along_k_a || along_i) || !(along_k_b || along_j))
    return gemm_by_elements(*gpu_, {batch, m, n, depth}, a, b, bias, c);
  const FloatShape s = float_shape(batch, m, n, depth);
  const BiasedRows result{c.data, c.batch, c.row, bias};
  const auto step = [](std::int64_t floats) { return static_cast<int>(floats); };
  const auto with = [&](const auto& left) {
    if (along_j) {
      const RowsAlongOuter right{b.data, step(b.batch), step(b.row), s.n, s.depth};
      launch_float(*gpu_, s, left, right, result);
    } else {
      const RowsAlongK right{b.data, step(b.batch), step(b.col), s.n, s.depth};
      launch_float(*gpu_, s, left, right, result);
    }
  };
  if (along_k_a)
    with(RowsAlongK{a.data, step(a.batch), step(a.row), s.m, s.depth});
  else
    with(RowsAlongOuter{a.data, step(a.batch), step(a.col), s.m, s.depth});
}

template <class Gpu>
void Device<Gpu>::linear(std::int64_t rows, std::int64_t in, std::int64_t out, Sides<const float> x,
                         const float* w, const float* bias, float* y) {
  if (x.right == nullptr)
    return gemm(1, rows, out, in, {x.left, in, 1, 0}, {w, out, 1, 0}, bias, {y, out, 0});
  const bool fours =
      in_fours(x.left, {x.cut}) && in_fours(x.right, {in - x.cut}) && in_fours(w, {out});
  if (fours && fits(rows * in) && fits(in * out) && fits(rows * out)) {
    const FloatShape s = float_shape(1, rows, out, in);
    return launch_float(
        *gpu_, s,
        SidesAlongK{x.left, x.right, static_cast<int>(x.cut), static_cast<int>(in - x.cut), s.m},
        RowsAlongOuter{w, 0, s.n, s.n, s.depth}, BiasedRows{y, 0, out, bias});
  }
  const auto left = [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t i, std::int64_t k) {
    return at(x, in, i, k);
  };
  const auto result = [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t i, std::int64_t j, float sum) {
    y[i * out + j] = bias == nullptr ? sum : sum + bias[j];
  };
  launch_product<FloatChain>(*gpu_, {1, rows, out, in}, left, Rows<float>{w, out}, result);
}

template <class Gpu>
void Device<Gpu>::linear_weight_grad(const LaneBlocks& lanes, std::int64_t rows, std::int64_t in,
                                     std::int64_t out, const float* x, const float* dy, float* dw) {
  conv2d_weight_grad({lanes.samples(), rows, 1, in, out, 1, 1, 1, 0}, lanes, x, dy, dw);
}

// Whether places around an image's pixels can be counted in 31 bits, so wide that no tap leaves it.
inline bool fits_with_taps(const ConvShape& s) {
  const std::int64_t channels = s.in > s.out ? s.in : s.out,
                     h = s.h + 2 * s.pad + 2 * s.kh + s.stride,
                     w = s.w + 2 * s.pad + 2 * s.kw + s.stride;
  return s.kh <= kMostTaps && s.kw <= kMostTaps && fits(s.n) && fits(h) && fits(w) &&
         fits(channels) && fits(s.n * h) && fits(s.n * h * w) && fits(s.n * h * w * channels) &&
         fits(s.kh * s.kw * s.in) && fits(s.kh * s.kw * s.in * s.out);
}

template <class Gpu>
void Device<Gpu>::conv2d(const ConvShape& s, const float* x, const float* w, const Added& added,
                         float* y) {
  const std::int64_t depth = s.kh * s.kw * s.in;
  if (!in_fours(x, {s.in}) || !in_fours(w, {s.out}) || !fits_with_taps(s) || depth == 0)
    return forward_of<Gpu, FloatChain>(*gpu_, s, x, w, Plain{}, added, y);
  const int oh = static_cast<int>(s.out_h()), ow = static_cast<int>(s.out_w());
  const FloatShape p = float_shape(1, s.n * oh * ow, s.out, depth);
  PixelsAlongK pixels{};
  pixels.data = x;
  pixels.h = static_cast<int>(s.h), pixels.w = static_cast<int>(s.w),
  pixels.c = static_cast<int>(s.in);
  pixels.count_y = oh, pixels.count_x = ow, pixels.extent = p.m;
  pixels.apart = static_cast<int>(s.stride);
  pixels.first_y = pixels.first_x = -static_cast<int>(s.pad);
  pixels.leads = 1;
  pixels.taps_y = static_cast<int>(s.kh), pixels.taps = radix_of(s.kw, s.in);
  launch_float(*gpu_, p, pixels, RowsAlongOuter{w, 0, p.n, p.n, p.depth},
               AddedRows{y, oh * ow, s.out, added});
}

// The input gradient of the pixels of one parity.
template <class Gpu>
void parity_grad(Gpu& gpu, const ConvShape& s, const Parity& p, const float* dy, const float* w,
                 const float* bias, float* dx) {
  const FloatShape shape =
      float_shape(1, s.n * p.count_y * p.count_x, s.in, p.taps_y * p.taps_x * s.out);
  const int count_y = static_cast<int>(p.count_y), count_x = static_cast<int>(p.count_x);
  const Radix taps = radix_of(p.taps_x, s.out);
  const int taps_y = static_cast<int>(p.taps_y);
  PixelsAlongK pixels{};
  pixels.data = dy;
  pixels.h = static_cast<int>(s.out_h()), pixels.w = static_cast<int>(s.out_w()),
  pixels.c = static_cast<int>(s.out);
  pixels.count_y = count_y, pixels.count_x = count_x, pixels.extent = shape.m;
  pixels.apart = 1;
  pixels.first_y = static_cast<int>((p.first_y + s.pad - p.first_ky) / s.stride);
  pixels.first_x = static_cast<int>((p.first_x + s.pad - p.first_kx) / s.stride);
  pixels.leads = -1;
  pixels.taps_y = taps_y, pixels.taps = taps;
  const std::int64_t tap = s.in * s.out;
  const WeightsAlongK weights{w + (p.first_ky * s.kw + p.first_kx) * tap,
                              shape.n,
                              static_cast<int>(s.out),
                              static_cast<int>(s.stride * s.kw * tap),
                              static_cast<int>(s.stride * tap),
                              taps_y,
                              taps};
  launch_float(gpu, shape, pixels, weights,
               ParityRows{dx, static_cast<int>(s.h), static_cast<int>(s.w), count_y, count_x,
                          static_cast<int>(p.first_y), static_cast<int>(p.first_x),
                          static_cast<int>(s.stride), s.in, bias});
}

template <class Gpu>
void Device<Gpu>::conv2d_input_grad(const ConvShape& s, const float* dy, const float* w,
                                    const float* bias, float* dx) {
  // A pixel that no tap meets is +0 and bias: only element by element.
  const bool met = s.kh >= s.stride && s.kw >= s.stride;
  if (!in_fours(dy, {s.out}) || !in_fours(w, {}) || !fits_with_taps(s) || !met || s.out == 0)
    return input_grad_of<Gpu, FloatChain>(*gpu_, s, dy, w, Plain{}, bias, dx);
  for (std::int64_t ry = 0; ry < s.stride; ++ry) {
    for (std::int64_t rx = 0; rx < s.stride; ++rx)
      parity_grad(*gpu_, s, parity_of(s, ry, rx), dy, w, bias, dx);
  }
}

template <class Gpu>
void lane_weight_grads(Gpu& gpu, const ConvShape& s, const LaneBlocks& lanes, const float* x,
                       const float* dy, float* sums) {
  const std::int64_t out_h = s.out_h(), out_w = s.out_w(), out = s.out;
  const std::int64_t positions = lanes.samples_per_lane * out_h * out_w, taps = s.kh * s.kw * s.in;
  if (!in_fours(x, {s.in}) || !in_fours(dy, {s.out}) || !fits_with_taps(s) || positions == 0) {
    const auto result = [=] LOCKSTEP_DEVICE(std::int64_t z, std::int64_t i, std::int64_t j,
                                            float sum) { sums[(z * taps + i) * out + j] = sum; };
    return launch_product<FloatChain>(gpu, {lanes.lane_count(), taps, out, positions},
                                      TurnedPatches<float>{patches_of(s, x), positions},
                                      Gradients<float>{dy, positions, out}, result);
  }
  const FloatShape p = float_shape(lanes.lane_count(), taps, out, positions);
  PixelsAlongOuter pixels{};
  pixels.data = x;
  pixels.h = static_cast<int>(s.h), pixels.w = static_cast<int>(s.w),
  pixels.c = static_cast<int>(s.in);
  pixels.kw = static_cast<int>(s.kw), pixels.extent = p.m;
  pixels.stride = static_cast<int>(s.stride), pixels.pad = static_cast<int>(s.pad);
  pixels.samples = static_cast<int>(lanes.samples_per_lane);
  pixels.positions = radix_of(out_h, out_w);
  launch_float(gpu, p, pixels, RowsAlongOuter{dy, p.depth * p.n, p.n, p.n, p.depth},
               BiasedRows{sums, taps * out, out, nullptr});
}

template <class Gpu>
void Device<Gpu>::conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes, const float* x,
                                     const float* dy, float* dw) {
  const std::int64_t width = s.kh * s.kw * s.in * s.out;
  const Scratch<Gpu, float> sums(*gpu_, lanes.lane_count() * width);
  lane_weight_grads(*gpu_, s, lanes, x, dy, sums.data());
  tree_over_lanes(*gpu_, lanes, width, sums.data(), dw);
}

}  // namespace lockstep::numerics::cuda
