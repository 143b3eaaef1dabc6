// Private: softmax for CUDA (softmax.h): a block has 32 rows.
#pragma once

#include "lockstep/numerics/spec/functions.h"
#include "numerics/cuda/rows-inl.h"

namespace lockstep::numerics::cuda {

struct SoftmaxKernel : RowsBlock {
  std::int64_t rows;
  Divisor cols;
  float scale;
  const float* x;
  float* of_rows;  // [rows]: largest values, then sums
  float* y;

  struct Value {
    std::int64_t i;
    float x, most;
  };

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const RowsOfBlock<Thread> here(t, rows, cols);
    here.largest([&](std::int64_t i) { return scale * x[i]; },
                 [&](std::int64_t row, float most) { of_rows[row] = most; });
    here.template fold<Fold::kSums>(
        [&](std::int64_t i, std::int64_t row) {
          return Value{i, x[i], of_rows[row]};
        },
        [&](const Value& of) { return y[of.i] = scalar::exp(scale * of.x - of.most); },
        [&](std::int64_t row, float sum) { of_rows[row] = sum; });
    here.each(
        [&](std::int64_t i, std::int64_t row) {
          return Floats<2>{y[i], of_rows[row]};
        },
        [&](std::int64_t i, const Floats<2>& of) { y[i] = of.of[0] / of.of[1]; });
  }
};

struct SoftmaxGradKernel : RowsBlock {
  std::int64_t rows;
  Divisor cols;
  float scale;
  const float* y;
  const float* dy;
  float* dots;  // [rows]
  float* dx;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const RowsOfBlock<Thread> here(t, rows, cols);
    here.template fold<Fold::kProducts>(
        [&](std::int64_t i, std::int64_t) {
          return Term{y[i], dy[i]};
        },
        Itself(), [&](std::int64_t row, float dot) { dots[row] = dot; });
    here.each(
        [&](std::int64_t i, std::int64_t row) {
          return Floats<3>{y[i], dy[i], dots[row]};
        },
        [&](std::int64_t i, const Floats<3>& of) {
          dx[i] = scale * (of.of[0] * (of.of[1] - of.of[2]));
        });
  }
};

template <class Gpu>
void Device<Gpu>::softmax(std::int64_t rows, std::int64_t cols, float scale, const float* x,
                          float* y) {
  const Scratch<Gpu, float> of_rows(*gpu_, rows);
  gpu_->launch(RowsBlock::grid(rows),
               SoftmaxKernel{{}, rows, Divisor(cols, rows * cols), scale, x, of_rows.data(), y});
}

template <class Gpu>
void Device<Gpu>::softmax_backward(std::int64_t rows, std::int64_t cols, float scale,
                                   const float* y, const float* dy, float* dx) {
  const Scratch<Gpu, float> dots(*gpu_, rows);
  gpu_->launch(
      RowsBlock::grid(rows),
      SoftmaxGradKernel{{}, rows, Divisor(cols, rows * cols), scale, y, dy, dots.data(), dx});
}

}  // namespace lockstep::numerics::cuda
