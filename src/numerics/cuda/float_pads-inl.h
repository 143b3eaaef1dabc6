// Private: operands of float products for CUDA whose rows are no multiple of four floats, copied to
// where they are. What is added leaves every bit: +0 of activations times -0 of weights is -0, and
// a sum plus -0 is that sum.
#pragma once

#include "numerics/cuda/device.h"

namespace lockstep::numerics::cuda {

inline std::int64_t to_four(std::int64_t n) {
  return (n + 3) / 4 * 4;
}

// Chains over taps of c channels may be padded: no term moves to another block.
inline bool may_pad(std::int64_t taps, std::int64_t c) {
  return c == to_four(c) || taps == 1 || taps * to_four(c) <= kBlock;
}

// Element i of matrices of [rows][cols] as [padded_rows][padded_cols].
struct PadKernel {
  std::int64_t rows, cols, padded_rows, padded_cols;
  float value;
  const float* from;
  float* to;

  std::int64_t floats() const { return padded_rows * padded_cols; }
  bool adds() const { return rows != padded_rows || cols != padded_cols; }
  LOCKSTEP_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t col = i % padded_cols, row = i / padded_cols % padded_rows,
                       matrix = i / padded_cols / padded_rows;
    to[i] = row < rows && col < cols ? from[(matrix * rows + row) * cols + col] : value;
  }
};

// Not copied where nothing is added.
template <class Gpu>
class Padded {
 public:
  Padded(Gpu& gpu, std::int64_t matrices, PadKernel pad)
      : from_(pad.from), copy_(gpu, pad.adds() ? matrices * pad.floats() : 0) {
    if (!pad.adds()) return;
    from_ = pad.to = copy_.data();
    const std::int64_t n = matrices * pad.floats();
    gpu.launch(grid_of(n), Each<PadKernel>{n, pad});
  }

  const float* data() const { return from_; }

 private:
  const float* from_;
  Scratch<Gpu, float> copy_;
};

// Rows of activations, padded with +0.
template <class Gpu>
Padded<Gpu> padded_rows(Gpu& gpu, std::int64_t rows, std::int64_t cols, const float* x) {
  return {gpu, 1, {rows, cols, rows, to_four(cols), 0.0F, x, nullptr}};
}

// Weights [taps][in][out], padded with -0.
template <class Gpu>
Padded<Gpu> padded_weights(Gpu& gpu, std::int64_t taps, std::int64_t in, std::int64_t out,
                           std::int64_t padded_in, const float* w) {
  return {gpu, taps, {in, out, padded_in, to_four(out), -0.0F, w, nullptr}};
}

}  // namespace lockstep::numerics::cuda
