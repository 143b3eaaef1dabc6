// Private: products of floats for CUDA, of any shape (gemm.h, conv.h): one tile of kTile x kTile
// results a block, k in steps through shared memory, 16 results a thread in registers. Floats that
// lie in fours go another way (float_tile-inl.h).
//
// A product is three functors: what lies at (z, i, k) of the left operand and at (z, k, j) of the
// right one, and what becomes of the sum at (z, i, j). Convolutions gather their operands (implicit
// GEMM).
#pragma once

#include "lockstep/core/error.h"
#include "numerics/cuda/columns.h"
#include "numerics/cuda/elementwise-inl.h"

namespace lockstep::numerics::cuda {

inline constexpr int kTile = 64;                         // results a side of a block
inline constexpr int kStep = 16;                         // of k at a time
inline constexpr int kEach = 4;                          // results a side of a thread
inline constexpr int kLine = kTile + kEach;              // floats of the left operand's k
inline constexpr int kLoads = kStep * kTile / kThreads;  // of a thread, of each operand
static_assert(kThreads == (kTile / kEach) * (kTile / kEach));
static_assert(kBlock % kStep == 0, "a step lies in one block of the chain");

// The chain of gemm.h.
struct FloatChain {
  float acc = 0.0F, total = 0.0F;

  LOCKSTEP_DEVICE void add(float a, float b) { acc = spec::fma(a, b, acc); }
  LOCKSTEP_DEVICE void end_block(bool first) {
    total = first ? acc : total + acc;
    acc = 0.0F;
  }
};

struct ProductShape {
  std::int64_t batch, m, n, depth;
};

// Operand z by itself: x.of(z), where there is something to compute once, or x(z, ...).
template <class X>
LOCKSTEP_DEVICE inline auto matrix_of(const X& x, std::int64_t z) {
  if constexpr (requires { x.of(z); })
    return x.of(z);
  else
    return [&x, z](std::int64_t a, std::int64_t b) { return x(z, a, b); };
}

template <class Left, class Right, class Result>
struct ProductKernel {
  ProductShape s;
  Left left;
  Right right;
  Result result;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const std::int64_t rows = (s.m + kTile - 1) / kTile, columns = (s.n + kTile - 1) / kTile;
    for (std::int64_t tile = t.block(); tile < s.batch * rows * columns; tile += t.blocks()) {
      one(t, tile / (rows * columns), tile / columns % rows * kTile, tile % columns * kTile);
    }
  }

  template <class Thread>
  LOCKSTEP_DEVICE void one(Thread& t, std::int64_t z, std::int64_t i0, std::int64_t j0) const {
    float* const a = t.template shared<float>();  // [kStep][kLine]
    float* const b = a + kStep * kLine;           // [kStep][kTile]
    const int row = t.thread() / (kTile / kEach) * kEach,
              column = t.thread() % (kTile / kEach) * kEach;
    const auto left_of = matrix_of(left, z);
    const auto right_of = matrix_of(right, z);
    // The next step's operands are on their way while one is computed.
    float from_left[kLoads], from_right[kLoads];
    const auto load = [&](std::int64_t k0) {
      LOCKSTEP_UNROLL
      for (int n = 0; n < kLoads; ++n) {
        const std::int64_t e = t.thread() + n * kThreads, k = k0 + e % kStep, i = i0 + e / kStep;
        from_left[n] = k < s.depth && i < s.m ? left_of(i, k) : 0.0F;
      }
      LOCKSTEP_UNROLL
      for (int n = 0; n < kLoads; ++n) {
        const std::int64_t e = t.thread() + n * kThreads, k = k0 + e / kTile, j = j0 + e % kTile;
        from_right[n] = k < s.depth && j < s.n ? right_of(k, j) : 0.0F;
      }
    };
    FloatChain chains[kEach][kEach];
    if (s.depth > 0) load(0);
    for (std::int64_t k0 = 0; k0 < s.depth; k0 += kStep) {
      LOCKSTEP_UNROLL
      for (int n = 0; n < kLoads; ++n) {
        const int e = t.thread() + n * kThreads;
        a[e % kStep * kLine + e / kStep] = from_left[n];
        b[e] = from_right[n];
      }
      t.barrier();
      if (k0 + kStep < s.depth) load(k0 + kStep);
      const int steps = static_cast<int>(s.depth - k0 < kStep ? s.depth - k0 : kStep);
      for (int k = 0; k < steps; ++k) {
        LOCKSTEP_UNROLL
        for (int i = 0; i < kEach; ++i) {
          LOCKSTEP_UNROLL
          for (int j = 0; j < kEach; ++j) {
            chains[i][j].add(a[k * kLine + row + i], b[k * kTile + column + j]);
          }
        }
      }
      if ((k0 + kStep) % kBlock == 0 || k0 + kStep >= s.depth) {
        LOCKSTEP_UNROLL
        for (int i = 0; i < kEach; ++i) {
          LOCKSTEP_UNROLL
          for (int j = 0; j < kEach; ++j) chains[i][j].end_block(k0 < kBlock);
        }
      }
      t.barrier();
    }
    LOCKSTEP_UNROLL
    for (int i = 0; i < kEach; ++i) {
      LOCKSTEP_UNROLL
      for (int j = 0; j < kEach; ++j) {
        if (i0 + row + i < s.m && j0 + column + j < s.n)
          result(z, i0 + row + i, j0 + column + j, chains[i][j].total);
      }
    }
  }
};

template <class Gpu, class Left, class Right, class Result>
void launch_product(Gpu& gpu, const ProductShape& s, const Left& left, const Right& right,
                    const Result& result) {
  const std::int64_t tiles = s.batch * ((s.m + kTile - 1) / kTile) * ((s.n + kTile - 1) / kTile);
  gpu.launch(Grid{tiles, kThreads, kStep * (kLine + kTile) * sizeof(float), /*fewer_do=*/true},
             ProductKernel<Left, Right, Result>{s, left, right, result});
}

// Pixel (y, x) of sample n, channel c; 0 outside the image.
struct Image {
  const float* data;
  std::int64_t h, w, c;
  LOCKSTEP_DEVICE float operator()(std::int64_t n, std::int64_t y, std::int64_t x,
                                   std::int64_t channel) const {
    if (y < 0 || y >= h || x < 0 || x >= w) return 0.0F;
    return data[((n * h + y) * w + x) * c + channel];
  }
};

// The patch around output position i, tap and channel k.
struct Patches {
  Image image;
  std::int64_t out_h, out_w, kw, stride, pad;
  LOCKSTEP_DEVICE float operator()(std::int64_t, std::int64_t i, std::int64_t k) const {
    const std::int64_t ci = k % image.c, kx = k / image.c % kw, ky = k / (image.c * kw);
    const std::int64_t ox = i % out_w, oy = i / out_w % out_h, n = i / (out_w * out_h);
    return image(n, oy * stride + ky - pad, ox * stride + kx - pad, ci);
  }
};

struct Rows {
  const float* data;
  std::int64_t cols;
  LOCKSTEP_DEVICE float operator()(std::int64_t, std::int64_t k, std::int64_t j) const {
    return data[k * cols + j];
  }
};

// Input gradients: the pixels (y, x) whose taps are ky = first_ky, first_ky + stride ..., and kx
// so.
struct Parity {
  std::int64_t first_y, first_x;    // of these pixels
  std::int64_t count_y, count_x;    // how many there are
  std::int64_t first_ky, first_kx;  // of their taps
  std::int64_t taps_y, taps_x;
};

inline Parity parity_of(const ConvShape& s, std::int64_t ry, std::int64_t rx) {
  const auto first = [&](std::int64_t r) { return ((r - s.pad) % s.stride + s.stride) % s.stride; };
  const auto count = [&](std::int64_t size, std::int64_t from) {
    return size > from ? (size - from + s.stride - 1) / s.stride : 0;
  };
  const auto taps = [&](std::int64_t k, std::int64_t r) {
    return k > r ? (k - r + s.stride - 1) / s.stride : 0;
  };
  const std::int64_t y = first(ry), x = first(rx);
  return {y, x, count(s.h, y), count(s.w, x), ry, rx, taps(s.kh, ry), taps(s.kw, rx)};
}

struct OutputPatches {
  Image image;  // dy
  Parity p;
  std::int64_t stride, pad;
  LOCKSTEP_DEVICE float operator()(std::int64_t, std::int64_t i, std::int64_t k) const {
    const std::int64_t co = k % image.c, kx = p.first_kx + k / image.c % p.taps_x * stride,
                       ky = p.first_ky + k / (image.c * p.taps_x) * stride;
    const std::int64_t x = p.first_x + i % p.count_x * stride,
                       y = p.first_y + i / p.count_x % p.count_y * stride;
    return image(i / (p.count_x * p.count_y), (y + pad - ky) / stride, (x + pad - kx) / stride, co);
  }
};

// w[ky][kx][j][co] for those taps.
struct TurnedWeights {
  const float* w;
  Parity p;
  std::int64_t kw, in, out, stride;
  LOCKSTEP_DEVICE float operator()(std::int64_t, std::int64_t k, std::int64_t j) const {
    const std::int64_t co = k % out, kx = p.first_kx + k / out % p.taps_x * stride,
                       ky = p.first_ky + k / (out * p.taps_x) * stride;
    return w[((ky * kw + kx) * in + j) * out + co];
  }
};

// Weight gradients: z is a lane (or a sample) of `positions` output positions.
struct TurnedPatches {
  Patches patches;
  std::int64_t positions;
  LOCKSTEP_DEVICE float operator()(std::int64_t z, std::int64_t i, std::int64_t k) const {
    return patches(0, z * positions + k, i);
  }
};

struct Gradients {
  const float* dy;
  std::int64_t positions, out;
  LOCKSTEP_DEVICE float operator()(std::int64_t z, std::int64_t k, std::int64_t j) const {
    return dy[(z * positions + k) * out + j];
  }
};

inline Patches patches_of(const ConvShape& s, const float* x) {
  return {{x, s.h, s.w, s.in}, s.out_h(), s.out_w(), s.kw, s.stride, s.pad};
}

template <class Gpu>
void forward_of(Gpu& gpu, const ConvShape& s, const float* x, const float* w, const Added& added,
                float* y) {
  const std::int64_t positions = s.out_h() * s.out_w(), out = s.out;
  const auto result = [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t i, std::int64_t j, float sum) {
    float value = sum;
    if (added.bias != nullptr) value = value + added.bias[j];
    if (added.rows != nullptr) value = canonical(value + added.rows[i / positions * out + j]);
    if (added.values != nullptr) value = canonical(added.values[i * out + j] + value);
    y[i * out + j] = value;
  };
  launch_product(gpu, {1, s.n * positions, s.out, s.kh * s.kw * s.in}, patches_of(s, x),
                 Rows{w, s.out}, result);
}

template <class Gpu>
void input_grad_of(Gpu& gpu, const ConvShape& s, const float* dy, const float* w, const float* bias,
                   float* dx) {
  const std::int64_t h = s.h, width = s.w, in = s.in, stride = s.stride;
  for (std::int64_t ry = 0; ry < s.stride; ++ry) {
    for (std::int64_t rx = 0; rx < s.stride; ++rx) {
      const Parity p = parity_of(s, ry, rx);
      const auto result = [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t i, std::int64_t j,
                                              float sum) {
        const std::int64_t sample = i / (p.count_x * p.count_y);
        const std::int64_t y = p.first_y + i / p.count_x % p.count_y * stride,
                           x = p.first_x + i % p.count_x * stride;
        dx[((sample * h + y) * width + x) * in + j] = bias == nullptr ? sum : sum + bias[j];
      };
      launch_product(gpu, {1, s.n * p.count_y * p.count_x, s.in, p.taps_y * p.taps_x * s.out},
                     OutputPatches{{dy, s.out_h(), s.out_w(), s.out}, p, s.stride, s.pad},
                     TurnedWeights{w, p, s.kw, s.in, s.out, s.stride}, result);
    }
  }
}

}  // namespace lockstep::numerics::cuda
