#include "numerics/cpu/correlation.h"

#include <algorithm>

#include "numerics/cpu/correlation_walk.h"
#include "numerics/cpu/packed.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kWorkGrain = 1 << 17;  // multiplications worth a thread

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Pixels of dx with the same remainders of y and x by the stride meet the same taps.
TapClass input_grad_class(const ConvShape& s, std::int64_t y, std::int64_t x) {
  TapClass result{y, x, {}};
  for (std::int64_t ky = 0; ky < s.kh; ++ky) {
    for (std::int64_t kx = 0; kx < s.kw; ++kx) {
      const std::int64_t ty = y + s.pad - ky, tx = x + s.pad - kx;
      if (ty % s.stride != 0 || tx % s.stride != 0) continue;
      result.taps.push_back({ty / s.stride, tx / s.stride, (ky * s.kw + kx) * s.in * s.out});
    }
  }
  return result;
}

PackedColumns packed(const TileKernels& tile, const Correlation& s, const TapClass& c,
                     const float* weights) {
  const auto taps = static_cast<std::int64_t>(c.taps.size());
  PackedColumns result(tile, taps * s.channels, s.columns);
  for (std::int64_t i = 0; i < taps; ++i) {
    result.fill(i * s.channels, s.channels, weights + c.taps[static_cast<std::size_t>(i)].weights,
                s.weight_row, s.weight_column);
  }
  return result;
}

// One thread's.
class Worker {
 public:
  Worker(const TileKernels& tile, const Correlation& s, const std::vector<PackedColumns>& weights,
         const float* src, const float* bias, float* dst, const AddedRows& added)
      : tile_(tile), weights_(weights), bias_(bias), added_(added), walk_(s, src, dst) {}

  void run(std::int64_t n, std::int64_t begin, std::int64_t end) {
    walk_.run(n, begin, end, [&](const Pixels<float>& pixels) {
      sweep_tiles({.tile = &tile_,
                   .a = pixels.a.data(),
                   .c = pixels.c.data(),
                   .rows = static_cast<std::int64_t>(pixels.a.size()),
                   .a_offset = pixels.offsets.data(),
                   .packed = &weights_[pixels.tap_class],
                   .bias = bias_,
                   .block = kBlock});
    });
    added_(n, begin, end);
  }

 private:
  const TileKernels& tile_;
  const std::vector<PackedColumns>& weights_;
  const float* bias_;
  const AddedRows& added_;
  CorrelationWalk<float, 1> walk_;
};

}  // namespace

Correlation forward_of(const ConvShape& s) {
  TapClass all;
  for (std::int64_t ky = 0; ky < s.kh; ++ky) {
    for (std::int64_t kx = 0; kx < s.kw; ++kx) {
      all.taps.push_back({ky - s.pad, kx - s.pad, (ky * s.kw + kx) * s.in * s.out});
    }
  }
  return {.n = s.n,
          .src_h = s.h,
          .src_w = s.w,
          .channels = s.in,
          .dst_h = s.out_h(),
          .dst_w = s.out_w(),
          .columns = s.out,
          .src_step = s.stride,
          .dst_step = 1,
          .weight_row = s.out,
          .weight_column = 1,
          .classes = {all}};
}

Correlation input_grad_of(const ConvShape& s) {
  Correlation result{.n = s.n,
                     .src_h = s.out_h(),
                     .src_w = s.out_w(),
                     .channels = s.out,
                     .dst_h = s.h,
                     .dst_w = s.w,
                     .columns = s.in,
                     .src_step = 1,
                     .dst_step = s.stride,
                     .weight_row = 1,
                     .weight_column = s.out,
                     .classes = {}};
  for (std::int64_t y = 0; y < s.stride; ++y) {
    for (std::int64_t x = 0; x < s.stride; ++x) {
      result.classes.push_back(input_grad_class(s, y, x));
    }
  }
  return result;
}

Reach reach_of(const Correlation& s) {
  Reach r;
  bool first = true;
  for (const TapClass& c : s.classes) {
    for (const Tap& t : c.taps) {
      if (first) r = {t.y, t.y, t.x, t.x};
      first = false;
      r.low_y = std::min(r.low_y, t.y);
      r.high_y = std::max(r.high_y, t.y);
      r.low_x = std::min(r.low_x, t.x);
      r.high_x = std::max(r.high_x, t.x);
    }
  }
  return r;
}

CellRows::CellRows(const Correlation& s)
    : n_(s.n), h_(ceil_div(s.dst_h, s.dst_step)), w_(ceil_div(s.dst_w, s.dst_step)) {
  std::int64_t depth = 1;
  for (const TapClass& c : s.classes)
    depth += static_cast<std::int64_t>(c.taps.size()) * s.channels;
  grain_ = kWorkGrain / (depth * s.columns * w_) + 1;
}

void correlate(Cpu& cpu, const TileKernels& tile, const Correlation& s, const float* src,
               const float* weights, const float* bias, float* dst, const AddedRows& added) {
  if (s.columns <= tile.lanes / 2 && s.src_step == 1) {
    return correlate_narrow(cpu, tile, s, src, weights, bias, dst, added);
  }
  std::vector<PackedColumns> classes;
  for (const TapClass& c : s.classes) classes.push_back(packed(tile, s, c, weights));
  CellRows(s).for_each(cpu, [&] { return Worker(tile, s, classes, src, bias, dst, added); });
}

}  // namespace lockstep::numerics
