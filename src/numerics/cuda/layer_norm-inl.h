// Private: layer norm for CUDA (norm.h): a block has 32 rows.
#pragma once

#include "lockstep/core/error.h"
#include "numerics/cuda/rows-inl.h"
#include "numerics/cuda/sums-inl.h"

namespace lockstep::numerics::cuda {

// gamma and beta of element i, in this row; 1 and 0 where there are none.
struct RowAffine {
  Affine affine;
  Divisor rows;  // that have the same
  std::int64_t c;

  RowAffine(const Affine& its, std::int64_t all_rows, std::int64_t its_c)
      : affine(its), rows(its.rows > 0 ? its.rows : all_rows + 1, all_rows), c(its_c) {}

  LOCKSTEP_DEVICE bool is_there() const { return affine.gamma != nullptr; }
  LOCKSTEP_DEVICE std::int64_t place(std::int64_t i, std::int64_t row) const {
    return rows.quotient(row) * c + i - row * c;
  }
};

struct LayerNormKernel : RowsBlock {
  std::int64_t rows;
  Divisor c;
  float count, eps;
  const float* x;
  RowAffine affine;
  float* y;
  float* mean;
  float* rstd;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const RowsOfBlock<Thread> here(t, rows, c);
    here.template fold<Fold::kSums>([&](std::int64_t i, std::int64_t) { return x[i]; }, Itself(),
                                    [&](std::int64_t row, float sum) { mean[row] = sum / count; });
    here.template fold<Fold::kProducts>(
        [&](std::int64_t i, std::int64_t row) {
          return Term{x[i], mean[row]};
        },
        SquaredDifference(),
        [&](std::int64_t row, float sum) { rstd[row] = 1.0F / spec::sqrt(sum / count + eps); });
    here.each(
        [&](std::int64_t i, std::int64_t row) {
          Floats<5> of{x[i], mean[row], rstd[row], 1.0F, 0.0F};
          if (affine.is_there()) {
            const std::int64_t j = affine.place(i, row);
            of.of[3] = affine.affine.gamma[j];
            of.of[4] = affine.affine.beta[j];
          }
          return of;
        },
        [&](std::int64_t i, const Floats<5>& of) {
          const float xhat = (of.of[0] - of.of[1]) * of.of[2];
          y[i] = affine.is_there() ? spec::fma(xhat, of.of[3], of.of[4]) : xhat;
        });
  }
};

struct LayerNormInputGradKernel : RowsBlock {
  std::int64_t rows;
  Divisor c;
  float count;
  const float* x;
  RowAffine affine;
  const float* mean;
  const float* rstd;
  const float* dy;
  float* means;  // [rows] of h, [rows] of h * xhat
  float* dx;

  struct Value {
    float x, mean, rstd, dy, gamma;
    LOCKSTEP_DEVICE float xhat() const { return (x - mean) * rstd; }
  };
  struct Whole {
    Value of;
    float m, q;
  };

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    float* const m = means;
    float* const q = means + rows;
    const RowsOfBlock<Thread> here(t, rows, c);
    here.template fold<Fold::kBoth>([&](std::int64_t i, std::int64_t row) { return value(i, row); },
                                    [&](const Value& of) {
                                      return Term{h(of), of.xhat()};
                                    },
                                    [&](std::int64_t row, float sum, float product) {
                                      m[row] = sum / count;
                                      q[row] = product / count;
                                    });
    here.each(
        [&](std::int64_t i, std::int64_t row) {
          return Whole{value(i, row), m[row], q[row]};
        },
        [&](std::int64_t i, const Whole& of) {
          dx[i] = (h(of.of) - spec::fma(of.of.xhat(), of.q, of.m)) * of.of.rstd;
        });
  }

 private:
  LOCKSTEP_DEVICE Value value(std::int64_t i, std::int64_t row) const {
    return {x[i], mean[row], rstd[row], dy[i],
            affine.is_there() ? affine.affine.gamma[affine.place(i, row)] : 1.0F};
  }
  LOCKSTEP_DEVICE float h(const Value& of) const {
    return affine.is_there() ? of.dy * of.gamma : of.dy;
  }
};

template <class Gpu>
void Device<Gpu>::layer_norm(std::int64_t rows, std::int64_t c, float eps, const float* x,
                             const Affine& affine, float* y, float* mean, float* rstd) {
  gpu_->launch(RowsBlock::grid(rows), LayerNormKernel{{},
                                                      rows,
                                                      Divisor(c, rows * c),
                                                      static_cast<float>(c),
                                                      eps,
                                                      x,
                                                      RowAffine(affine, rows, c),
                                                      y,
                                                      mean,
                                                      rstd});
}

// A column, whose rows have statistics.
struct DyAndXOfRows {
  Column<const float> dy, x;
  const float* mean;
  const float* rstd;
  LOCKSTEP_DEVICE Floats<4> operator()(int k) const { return {dy(k), x(k), mean[k], rstd[k]}; }
};

template <class Gpu>
void Device<Gpu>::layer_norm_backward(std::int64_t rows, std::int64_t c, const LaneBlocks& lanes,
                                      std::int64_t rows_per_sample, const float* x,
                                      const Affine& affine, const float* mean, const float* rstd,
                                      const float* dy, float* dx, float* dgamma, float* dbeta) {
  LOCKSTEP_ASSERT((dgamma == nullptr) == (dbeta == nullptr), "dgamma and dbeta go together");
  if (dx != nullptr) {
    const Scratch<Gpu, float> means(*gpu_, 2 * rows);
    gpu_->launch(RowsBlock::grid(rows), LayerNormInputGradKernel{{},
                                                                 rows,
                                                                 Divisor(c, rows * c),
                                                                 static_cast<float>(c),
                                                                 x,
                                                                 RowAffine(affine, rows, c),
                                                                 mean,
                                                                 rstd,
                                                                 dy,
                                                                 means.data(),
                                                                 dx});
  }
  if (dgamma == nullptr) return;
  const std::int64_t lane_rows = lanes.samples_per_lane * rows_per_sample;
  const ColumnSumsAndProducts<Gpu> folded(
      *gpu_, lanes.lane_count(), lane_rows, c,
      [=] LOCKSTEP_DEVICE(std::int64_t lane, std::int64_t k, std::int64_t j) {
        const std::int64_t row = lane * lane_rows + k, i = row * c + j;
        return DyAndXOfRows{{dy + i, c}, {x + i, c}, mean + row, rstd + row};
      },
      DyAndXhat());
  tree_over_lanes(lanes, c, folded.products(), dgamma, folded.sums(), dbeta);
}

}  // namespace lockstep::numerics::cuda
