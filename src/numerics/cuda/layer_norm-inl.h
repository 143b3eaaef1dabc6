// Private: layer norm for CUDA (norm.h): a block has 32 rows.
#pragma once

#include "lockstep/core/error.h"
#include "numerics/cuda/rows-inl.h"
#include "numerics/cuda/sums-inl.h"

namespace lockstep::numerics::cuda {

// Where gamma and beta of element i, in this row, are.
LOCKSTEP_DEVICE inline std::int64_t place_in(const Affine& affine, std::int64_t row, std::int64_t c,
                                             std::int64_t i) {
  return (affine.rows > 0 ? row / affine.rows * c : 0) + i % c;
}

struct LayerNormKernel : RowsBlock {
  std::int64_t rows, c;
  float count, eps;
  const float* x;
  Affine affine;
  float* y;
  float* mean;
  float* rstd;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const RowsOfBlock<Thread> here(t, rows, c);
    here.template fold<Fold::kSums>([&](std::int64_t i, std::int64_t) { return x[i]; },
                                    [&](std::int64_t row, float sum) { mean[row] = sum / count; });
    here.template fold<Fold::kProducts>(
        [&](std::int64_t i, std::int64_t row) {
          const float d = x[i] - mean[row];
          return Term{d, d};
        },
        [&](std::int64_t row, float sum) { rstd[row] = 1.0F / spec::sqrt(sum / count + eps); });
    here.each([&](std::int64_t i, std::int64_t row) {
      const float xhat = (x[i] - mean[row]) * rstd[row];
      const std::int64_t j = place_in(affine, row, c, i);
      y[i] = affine.gamma == nullptr ? xhat : spec::fma(xhat, affine.gamma[j], affine.beta[j]);
    });
  }
};

struct LayerNormInputGradKernel : RowsBlock {
  std::int64_t rows, c;
  float count;
  const float* x;
  Affine affine;
  const float* mean;
  const float* rstd;
  const float* dy;
  float* means;  // [rows] of h, [rows] of h * xhat
  float* dx;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    float* const m = means;
    float* const q = means + rows;
    const RowsOfBlock<Thread> here(t, rows, c);
    here.template fold<Fold::kBoth>(
        [&](std::int64_t i, std::int64_t row) {
          return Term{h(i, row), xhat(i, row)};
        },
        [&](std::int64_t row, float sum, float product) {
          m[row] = sum / count;
          q[row] = product / count;
        });
    here.each([&](std::int64_t i, std::int64_t row) {
      dx[i] = (h(i, row) - spec::fma(xhat(i, row), q[row], m[row])) * rstd[row];
    });
  }

 private:
  LOCKSTEP_DEVICE float xhat(std::int64_t i, std::int64_t row) const {
    return (x[i] - mean[row]) * rstd[row];
  }
  LOCKSTEP_DEVICE float h(std::int64_t i, std::int64_t row) const {
    if (affine.gamma == nullptr) return dy[i];
    return dy[i] * affine.gamma[place_in(affine, row, c, i)];
  }
};

template <class Gpu>
void Device<Gpu>::layer_norm(std::int64_t rows, std::int64_t c, float eps, const float* x,
                             const Affine& affine, float* y, float* mean, float* rstd) {
  gpu_->launch(RowsBlock::grid(rows),
               LayerNormKernel{{}, rows, c, static_cast<float>(c), eps, x, affine, y, mean, rstd});
}

template <class Gpu>
void Device<Gpu>::layer_norm_backward(std::int64_t rows, std::int64_t c, const LaneBlocks& lanes,
                                      std::int64_t rows_per_sample, const float* x,
                                      const Affine& affine, const float* mean, const float* rstd,
                                      const float* dy, float* dx, float* dgamma, float* dbeta) {
  LOCKSTEP_ASSERT((dgamma == nullptr) == (dbeta == nullptr), "dgamma and dbeta go together");
  if (dx != nullptr) {
    const Scratch<Gpu, float> means(*gpu_, 2 * rows);
    gpu_->launch(
        RowsBlock::grid(rows),
        LayerNormInputGradKernel{
            {}, rows, c, static_cast<float>(c), x, affine, mean, rstd, dy, means.data(), dx});
  }
  if (dgamma == nullptr) return;
  const std::int64_t lane_rows = lanes.samples_per_lane * rows_per_sample;
  const ColumnSumsAndProducts<Gpu> folded(
      *gpu_, lanes.lane_count(), lane_rows, c,
      [=] LOCKSTEP_DEVICE(std::int64_t lane, std::int64_t k, std::int64_t j) {
        const std::int64_t row = lane * lane_rows + k, i = row * c + j;
        return Term{dy[i], (x[i] - mean[row]) * rstd[row]};
      });
  tree_over_lanes(lanes, c, folded.products(), dgamma, folded.sums(), dbeta);
}

}  // namespace lockstep::numerics::cuda
