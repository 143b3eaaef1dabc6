// Private: softmax for CUDA (softmax.h).
#pragma once

#include "lockstep/numerics/spec/functions.h"
#include "numerics/cuda/chains-inl.h"

namespace lockstep::numerics::cuda {

// A warp a row: the largest scale * x. Any order finds it, +0 or -0.
struct RowMaxima {
  std::int64_t rows, cols;
  float scale;
  const float* x;
  float* out;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const std::int64_t row = t.block() * (kThreads / kWarp) + t.thread() / kWarp;
    if (row >= rows) return;
    float most = spec::bit_cast<float>(0xff800000U);  // -infinity
    for (std::int64_t j = t.thread() % kWarp; j < cols; j += kWarp)
      most = larger(scale * x[row * cols + j], most);
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
      most = larger(t.shuffle_down(most, lanes), most);
    if (t.thread() % kWarp == 0) out[row] = most;
  }

 private:
  LOCKSTEP_DEVICE static float larger(float a, float b) { return a > b ? a : b; }
};

template <class Gpu>
void Device<Gpu>::softmax(std::int64_t rows, std::int64_t cols, float scale, const float* x,
                          float* y) {
  const Scratch<Gpu, float> of_rows(*gpu_, 2 * rows);
  float* const most = of_rows.data();
  float* const sums = most + rows;
  constexpr std::int64_t kRows = kThreads / kWarp;
  gpu_->launch(Grid{(rows + kRows - 1) / kRows, kThreads, 0},
               RowMaxima{rows, cols, scale, x, most});
  each(rows * cols,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { y[i] = scalar::exp(scale * x[i] - most[i / cols]); });
  row_chains(
      *gpu_, cols, rows,
      [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t k, std::int64_t row) {
        return y[row * cols + k];
      },
      sums);
  each(rows * cols, [=] LOCKSTEP_DEVICE(std::int64_t i) { y[i] = y[i] / sums[i / cols]; });
}

template <class Gpu>
void Device<Gpu>::softmax_backward(std::int64_t rows, std::int64_t cols, float scale,
                                   const float* y, const float* dy, float* dx) {
  const Scratch<Gpu, float> dots(*gpu_, rows);
  float* const d = dots.data();
  row_dots(rows, cols, y, dy, d);
  each(rows * cols,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { dx[i] = scale * (y[i] * (dy[i] - d[i / cols])); });
}

}  // namespace lockstep::numerics::cuda
