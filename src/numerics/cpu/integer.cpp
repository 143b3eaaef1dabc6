#include "lockstep/numerics/integer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/correlation_walk.h"
#include "numerics/cpu/integer_scalar.h"
#include "numerics/cpu/packed_pairs.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kRoundGrain = 1 << 16;  // values worth a thread

using Walk = CorrelationWalk<std::int16_t, 2>;

struct Weights {
  PackedPairs packed;
  bool fits;
};

Weights packed(const IntegerKernels& kernels, const Correlation& s, const TapClass& c,
               const std::int16_t* weights) {
  const std::int64_t pairs_of_tap = Walk::stored(s.channels) / 2;
  PackedPairs result(kernels, std::ssize(c.taps) * pairs_of_tap, s.columns);
  std::int64_t pair = 0;
  for (const Tap& tap : c.taps) {
    const std::int16_t* from = weights + tap.weights;
    if (s.weight_row == 1) {
      result.fill_transposed(pair, s.channels, from, s.weight_column);
    } else {
      for (std::int64_t k = 0; k < s.channels; k += 2) {
        const std::int16_t* row = from + k * s.weight_row;
        result.fill(pair + k / 2, row, k + 1 < s.channels ? row + s.weight_row : nullptr);
      }
    }
    pair += pairs_of_tap;
  }
  const bool fits = result.fits();
  return {std::move(result), fits};
}

// One thread's.
class Worker {
 public:
  Worker(const IntegerKernels& kernels, const Correlation& s, const std::vector<Weights>& weights,
         const Rounded& src, const Rounded& w, const float* bias, float* dst,
         const AddedRows& added)
      : kernels_(kernels),
        weights_(weights),
        src_(src),
        w_(w),
        bias_(bias),
        added_(added),
        walk_(s, src.q, dst) {}

  void run(std::int64_t n, std::int64_t begin, std::int64_t end) {
    walk_.run(n, begin, end, [&](const Pixels<std::int16_t>& pixels) {
      const Weights& weights = weights_[pixels.tap_class];
      sweep_integer_tiles({.kernels = &kernels_,
                           .a = pixels.a.data(),
                           .c = pixels.c.data(),
                           .rows = std::ssize(pixels.a),
                           .a_offset = pixels.offsets.data(),
                           .packed = &weights.packed,
                           .fits = weights.fits,
                           .exponent_u = src_.exponents[pixels.sample],
                           .exponent_v = w_.exponents[0],
                           .bias = bias_});
    });
    added_(n, begin, end);
  }

 private:
  const IntegerKernels& kernels_;
  const std::vector<Weights>& weights_;
  const Rounded& src_;
  const Rounded& w_;
  const float* bias_;
  const AddedRows& added_;
  Walk walk_;
};

void correlate_integers(Cpu& cpu, const Correlation& s, const Rounded& src, const Rounded& w,
                        const float* bias, float* dst, const AddedRows& added = {}) {
  const IntegerKernels& kernels = integer_kernels(cpu.isa());
  std::vector<Weights> classes;
  for (const TapClass& c : s.classes) classes.push_back(packed(kernels, s, c, w.q));
  CellRows(s).for_each(cpu, [&] { return Worker(kernels, s, classes, src, w, bias, dst, added); });
}

}  // namespace

void Cpu::round_groups(std::int64_t groups, std::int64_t rows, std::int64_t c, Sides<const float> x,
                       std::int16_t* q, std::int32_t* exponents) {
  const std::int64_t size = rows * c, grain = kRoundGrain / std::max<std::int64_t>(1, size) + 1;
  const bool scalar = isa() == Isa::kScalar;
  const auto largest = scalar ? &largest_scalar : integer_kernels(isa()).largest;
  const auto round = scalar ? &round_scalar : integer_kernels(isa()).round;
  parallel_for(groups, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t g = begin; g < end; ++g) {
      std::uint32_t most = 0;
      x.for_each(c, [&](const float* side, std::int64_t, std::int64_t count) {
        most = std::max(most, largest(rows * count, side + g * rows * count));
      });
      exponents[g] = spec::exponent_of(most);
      if (exponents[g] == spec::kNotFinite) {
        std::fill_n(q + g * size, size, std::int16_t{0});
        continue;
      }
      const float factor = spec::rounding_factor(exponents[g]);
      if (x.right == nullptr) {
        round(1, size, factor, x.left + g * size, size, q + g * size);
        continue;
      }
      x.for_each(c, [&](const float* side, std::int64_t first, std::int64_t count) {
        round(rows, count, factor, side + g * rows * count, c, q + g * size + first);
      });
    }
  });
}

void Cpu::plain_integers(std::int64_t rows, std::int64_t c, const std::int16_t* q,
                         std::int16_t* plain) {
  std::copy_n(q, rows * c, plain);
}

void Cpu::integer_conv2d(const ConvShape& s, const Rounded& x, const Rounded& w, const Added& added,
                         float* y) {
  if (s.n * s.out_h() * s.out_w() * s.out == 0) return;
  const AddedRows behind(isa(), s, added, y);
  if (isa() == Isa::kScalar) {
    parallel_for(s.n * s.out_h(), 1, [&](std::int64_t begin, std::int64_t end) {
      integer_conv2d_scalar(s, begin, end, x, w, added.bias, y);
      behind.to_rows(begin, end);
    });
    return;
  }
  correlate_integers(*this, forward_of(s), x, w, added.bias, y, behind);
}

void Cpu::integer_conv2d_input_grad(const ConvShape& s, const Rounded& dy, const Rounded& w,
                                    const float* bias, float* dx) {
  if (s.n * s.h * s.w * s.in == 0) return;
  if (isa() == Isa::kScalar) {
    parallel_for(s.n * s.h, 1, [&](std::int64_t begin, std::int64_t end) {
      integer_conv2d_input_grad_scalar(s, begin, end, dy, w, bias, dx);
    });
    return;
  }
  correlate_integers(*this, input_grad_of(s), dy, w, bias, dx);
}

}  // namespace lockstep::numerics
