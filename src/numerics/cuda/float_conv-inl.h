// Private: float convolutions for CUDA (conv.h), as products of matrices that are never written
// (implicit GEMM): by tiles where offsets fit 31 bits, else one by one (products-inl.h). Channels
// that are no multiple of four are padded.
#pragma once

#include "numerics/cuda/float_products-inl.h"

namespace lockstep::numerics::cuda {

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

// Whether places around an image's pixels can be counted in 31 bits, so wide that no tap leaves it.
// One tap leaves none.
inline bool fits_with_taps(const ConvShape& s) {
  const bool around = s.kh > 1 || s.kw > 1 || s.pad > 0 || s.stride > 1;
  const std::int64_t channels = s.in > s.out ? s.in : s.out,
                     h = s.h + (around ? 2 * s.pad + 2 * s.kh + s.stride : 0),
                     w = s.w + (around ? 2 * s.pad + 2 * s.kw + s.stride : 0);
  return s.kh <= kMostTaps && s.kw <= kMostTaps && s.in > 0 && s.out > 0 && fits(s.n) && fits(h) &&
         fits(w) && fits(channels) && fits(s.n * h) && fits(s.n * h * w) &&
         fits(s.n * h * w * channels) && fits(s.in * s.out) && fits(s.kh * s.kw * s.in * s.out);
}

// The shape with channels in fours.
inline ConvShape padded_shape(ConvShape s) {
  s.in = to_four(s.in), s.out = to_four(s.out);
  return s;
}

// An image of c channels as the left operand; what tells passes apart is left to them.
inline PixelsAlongK pixels_of(const float* data, std::int64_t h, std::int64_t w, std::int64_t c) {
  PixelsAlongK pixels{};
  pixels.data = data;
  pixels.h = static_cast<int>(h), pixels.w = static_cast<int>(w), pixels.c = static_cast<int>(c);
  return pixels;
}

template <class Gpu>
void Device<Gpu>::conv2d(const ConvShape& s, const float* x, const float* w, const Added& added,
                         float* y) {
  const ConvShape p = padded_shape(s);
  const std::int64_t taps = s.kh * s.kw;
  if (!in_fours(x, {}) || !in_fours(w, {}) || !fits_with_taps(p) || !may_pad(taps, s.in))
    return forward_of(*gpu_, s, x, w, added, y);
  const auto activations = padded_rows(*gpu_, s.n * s.h * s.w, s.in, x);
  const auto weights = padded_weights(*gpu_, taps, s.in, s.out, p.in, w);
  const int oh = static_cast<int>(s.out_h()), ow = static_cast<int>(s.out_w());
  const FloatShape shape = float_shape(1, s.n * oh * ow, s.out, taps * p.in);
  PixelsAlongK pixels = pixels_of(activations.data(), s.h, s.w, p.in);
  pixels.count_y = oh, pixels.count_x = ow, pixels.extent = shape.m;
  pixels.apart = static_cast<int>(s.stride);
  pixels.first_y = pixels.first_x = -static_cast<int>(s.pad);
  pixels.leads = 1;
  pixels.taps_y = static_cast<int>(s.kh), pixels.taps = radix_of(s.kw, p.in);
  const auto columns = static_cast<int>(p.out);
  launch_float(*gpu_, shape, pixels,
               RowsAlongOuter{weights.data(), 0, columns, columns, shape.depth},
               AddedRows{y, oh * ow, s.out, added});
}

// The input gradient of the pixels of one parity. Output channels are in fours.
template <class Gpu>
void parity_grad(Gpu& gpu, const ConvShape& s, const Parity& p, const float* dy, const float* w,
                 const float* bias, float* dx) {
  const FloatShape shape =
      float_shape(1, s.n * p.count_y * p.count_x, s.in, p.taps_y * p.taps_x * s.out);
  const int count_y = static_cast<int>(p.count_y), count_x = static_cast<int>(p.count_x),
            taps_y = static_cast<int>(p.taps_y);
  const Radix taps = radix_of(p.taps_x, s.out);
  PixelsAlongK pixels = pixels_of(dy, s.out_h(), s.out_w(), s.out);
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
  ConvShape p = padded_shape(s);
  p.in = s.in;
  const std::int64_t taps = s.kh * s.kw;
  // A pixel that no tap meets is +0 and bias: only element by element.
  const bool met = s.kh >= s.stride && s.kw >= s.stride;
  if (!in_fours(dy, {}) || !in_fours(w, {}) || !fits_with_taps(p) || !met ||
      !fits(s.stride * s.kw * s.in * p.out) || !may_pad(taps, s.out))
    return input_grad_of(*gpu_, s, dy, w, bias, dx);
  const auto gradients = padded_rows(*gpu_, s.n * s.out_h() * s.out_w(), s.out, dy);
  const auto weights = padded_weights(*gpu_, taps, s.in, s.out, s.in, w);
  for (std::int64_t ry = 0; ry < s.stride; ++ry) {
    for (std::int64_t rx = 0; rx < s.stride; ++rx)
      parity_grad(*gpu_, p, parity_of(s, ry, rx), gradients.data(), weights.data(), bias, dx);
  }
}

template <class Gpu>
void weight_grads_by_elements(Gpu& gpu, const ConvShape& s, const LaneBlocks& lanes, const float* x,
                              const float* dy, float* sums) {
  const std::int64_t positions = lanes.samples_per_lane * s.out_h() * s.out_w(),
                     taps = s.kh * s.kw * s.in, out = s.out;
  const auto result = [=] LOCKSTEP_DEVICE(std::int64_t z, std::int64_t i, std::int64_t j,
                                          float sum) { sums[(z * taps + i) * out + j] = sum; };
  launch_product(gpu, {lanes.lane_count(), taps, out, positions},
                 TurnedPatches{patches_of(s, x), positions}, Gradients{dy, positions, out}, result);
}

// [lanes][kh][kw][in][out]; input channels are in fours.
template <class Gpu>
FloatSums<Gpu> weight_grads_by_tiles(Gpu& gpu, const ConvShape& s, const LaneBlocks& lanes,
                                     const float* x, const float* dy) {
  const std::int64_t positions = lanes.samples_per_lane * s.out_h() * s.out_w(),
                     taps = s.kh * s.kw * s.in;
  const auto gradients = padded_rows(gpu, s.n * s.out_h() * s.out_w(), s.out, dy);
  const FloatShape shape = float_shape(lanes.lane_count(), taps, s.out, positions);
  PixelsAlongOuter pixels{};
  pixels.data = x;
  pixels.h = static_cast<int>(s.h), pixels.w = static_cast<int>(s.w);
  pixels.c = static_cast<int>(s.in);
  pixels.kw = static_cast<int>(s.kw), pixels.extent = shape.m;
  pixels.stride = static_cast<int>(s.stride), pixels.pad = static_cast<int>(s.pad);
  pixels.samples = static_cast<int>(lanes.samples_per_lane);
  pixels.positions = radix_of(s.out_h(), s.out_w());
  const auto columns = static_cast<int>(to_four(s.out));
  return {gpu, shape, pixels,
          RowsAlongOuter{gradients.data(), shape.depth * columns, columns, columns, shape.depth}};
}

// Weights' gradients [lanes * taps][tap], of which the sums have padded_tap.
struct OfTaps {
  ChainSums sums;
  Divisor by_tap;
  std::int64_t padded_tap, padded_lane;

  // Of lanes one after another.
  template <int kCount>
  LOCKSTEP_DEVICE void some(std::int64_t i, std::int64_t, float (&values)[kCount]) const {
    sums.some(by_tap.quotient(i) * padded_tap + by_tap.remainder(i), padded_lane, values);
  }
};

template <class Gpu>
void Device<Gpu>::conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes, const float* x,
                                     const float* dy, float* dw) {
  const std::int64_t width = s.kh * s.kw * s.in * s.out;
  const std::int64_t positions = lanes.samples_per_lane * s.out_h() * s.out_w();
  if (!in_fours(x, {}) || !in_fours(dy, {}) || !fits_with_taps(padded_shape(s)) || positions == 0) {
    const Scratch<Gpu, float> sums(*gpu_, lanes.lane_count() * width);
    weight_grads_by_elements(*gpu_, s, lanes, x, dy, sums.data());
    return tree_over_lanes(lanes, width, InRows{sums.data()}, dw);
  }
  ConvShape p = s;
  p.in = to_four(s.in);
  const auto activations = padded_rows(*gpu_, s.n * s.h * s.w, s.in, x);
  const auto sums = weight_grads_by_tiles(*gpu_, p, lanes, activations.data(), dy);
  const ChainSums all = sums.sums();
  if (p.in == s.in) return tree_over_lanes(lanes, width, all, dw);
  tree_over_lanes(lanes, width,
                  OfTaps{all, Divisor(s.in * s.out, lanes.lane_count() * width), p.in * s.out,
                         s.kh * s.kw * p.in * s.out},
                  dw);
}

}  // namespace lockstep::numerics::cuda
