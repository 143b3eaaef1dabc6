// Private: operands of float products for CUDA whose rows are no multiple of four floats, copied to
// where they are. What is added leaves every bit: +0 of activations times -0 of weights is -0, and
// a sum plus -0 is that sum.
#pragma once

#include "numerics/cuda/device.h"
#include "numerics/cuda/divisor.h"
#include "numerics/cuda/elements.h"

namespace lockstep::numerics::cuda {

inline std::int64_t to_four(std::int64_t n) {
  return (n + 3) / 4 * 4;
}

// Chains over taps of c channels may be padded: no term moves to another block.
inline bool may_pad(std::int64_t taps, std::int64_t c) {
  return c == to_four(c) || taps == 1 || taps * to_four(c) <= kBlock;
}

// Matrices of [rows][cols] as [padded_rows][padded_cols].
struct Pad {
  std::int64_t rows, cols, padded_rows, padded_cols;
  float value;

  std::int64_t floats() const { return padded_rows * padded_cols; }
  bool adds() const { return rows != padded_rows || cols != padded_cols; }
};

// Element i of all.
struct ReadPadded {
  Pad pad;
  Divisor by_cols, by_rows;
  const float* from;

  ReadPadded(const Pad& its, std::int64_t matrices, const float* data)
      : pad(its),
        by_cols(its.padded_cols, matrices * its.floats()),
        by_rows(its.padded_rows, matrices * its.padded_rows),
        from(data) {}
  LOCKSTEP_DEVICE float operator()(std::int64_t i) const {
    const std::int64_t line = by_cols.quotient(i), col = i - line * pad.padded_cols,
                       matrix = by_rows.quotient(line), row = line - matrix * pad.padded_rows;
    return row < pad.rows && col < pad.cols ? from[(matrix * pad.rows + row) * pad.cols + col]
                                            : pad.value;
  }
};

// Not copied where nothing is added.
template <class Gpu>
class Padded {
 public:
  Padded(Gpu& gpu, std::int64_t matrices, const Pad& pad, const float* from)
      : from_(from), copy_(gpu, pad.adds() ? matrices * pad.floats() : 0) {
    if (!pad.adds()) return;
    from_ = copy_.data();
    const std::int64_t n = matrices * pad.floats();
    elements(gpu, n, copy_.data(), ReadPadded(pad, matrices, from), Itself());
  }

  const float* data() const { return from_; }

 private:
  const float* from_;
  Scratch<Gpu, float> copy_;
};

// Rows of activations, padded with +0.
template <class Gpu>
Padded<Gpu> padded_rows(Gpu& gpu, std::int64_t rows, std::int64_t cols, const float* x,
                        std::int64_t matrices = 1) {
  return {gpu, matrices, {rows, cols, rows, to_four(cols), 0.0F}, x};
}

// Weights [taps][in][out], padded with -0.
template <class Gpu>
Padded<Gpu> padded_weights(Gpu& gpu, std::int64_t taps, std::int64_t in, std::int64_t out,
                           std::int64_t padded_in, const float* w) {
  return {gpu, taps, {in, out, padded_in, to_four(out), -0.0F}, w};
}

}  // namespace lockstep::numerics::cuda
