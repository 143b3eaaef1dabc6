// Private: batch norm for CUDA (norm.h).
#pragma once

#include "lockstep/numerics/spec/moments.h"
#include "numerics/cuda/channels-inl.h"
#include "numerics/cuda/norm_channel-inl.h"
#include "numerics/cuda/sums-inl.h"

namespace lockstep::numerics::cuda {

template <class Gpu>
void Device<Gpu>::lane_moments(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c,
                               const float* x, float* mean, float* m2) {
  const std::int64_t lane_rows = lanes.samples_per_lane * rows, n = lanes.lane_count() * c;
  const auto count = static_cast<float>(lane_rows);
  const ColumnSums<Gpu> folded(*gpu_, lanes.lane_count(), lane_rows, c, Columns{x, lane_rows, c});
  each(n, [=, sums = folded.sums()] LOCKSTEP_DEVICE(std::int64_t i) { mean[i] = sums(i) / count; });
  chains<Neighbours::kChains, Fold::kProducts>(
      *gpu_, lanes.lane_count(), lane_rows, c, m2,
      [=] LOCKSTEP_DEVICE(std::int64_t lane, std::int64_t k, std::int64_t j) {
        return ColumnBeside{{x + (lane * lane_rows + k) * c + j, c}, mean[lane * c + j]};
      },
      SquaredDifference());
}

template <class Gpu>
void Device<Gpu>::merge_moments(std::int64_t lanes, std::int64_t c, float count, const float* rows,
                                float* mean, float* variance) {
  each(c, [=] LOCKSTEP_DEVICE(std::int64_t j) {
    const Moments merged = fold_tree<Moments>(
        lanes,
        [&]<int kCount>(std::int64_t lane, Moments(&values)[kCount]) {
          LOCKSTEP_UNROLL
          for (int n = 0; n < kCount; ++n) {
            const float* const at = rows + 2 * (lane + n) * c + j;
            values[n] = {count, at[0], at[c]};
          }
        },
        [](const Moments& a, const Moments& b) { return merge(a, b); });
    mean[j] = merged.mean;
    variance[j] = merged.m2 / merged.count;
  });
}

template <class Gpu>
void Device<Gpu>::batch_norm_apply(std::int64_t rows, std::int64_t c, const float* x,
                                   const float* mean, const float* rstd, const float* gamma,
                                   const float* beta, float* y) {
  each_of_channels(*gpu_, 1, rows, c, [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t j) {
    return NormalisedChannel{{x + j, c}, {y + j, c}, {mean[j], rstd[j], gamma[j], beta[j], false}};
  });
}

struct BatchNormChannelGrad {
  Column<const float> x, dy;
  Column<float> dx;
  float mean, rstd, gamma, mean_dy, mean_dy_xhat;

  LOCKSTEP_DEVICE XAndG read(std::int64_t p) const { return {x(p), dy(p)}; }
  LOCKSTEP_DEVICE void write(std::int64_t p, const XAndG& value) const {
    const float xhat = (value.x - mean) * rstd;
    dx(p) = gamma * rstd * (value.g - spec::fma(xhat, mean_dy_xhat, mean_dy));
  }
};

// A column, which has statistics.
struct DyAndXOfChannel {
  Column<const float> dy, x;
  float mean, rstd;
  LOCKSTEP_DEVICE Floats<4> operator()(int k) const { return {dy(k), x(k), mean, rstd}; }
};

template <class Gpu>
void Device<Gpu>::batch_norm_backward_sums(const LaneBlocks& lanes, std::int64_t rows,
                                           std::int64_t c, const float* x, const float* mean,
                                           const float* rstd, const float* dy, float* sum_dy,
                                           float* sum_dy_xhat) {
  const std::int64_t lane_rows = lanes.samples_per_lane * rows;
  const ColumnSumsAndProducts<Gpu> folded(
      *gpu_, lanes.lane_count(), lane_rows, c,
      [=] LOCKSTEP_DEVICE(std::int64_t lane, std::int64_t k, std::int64_t j) {
        const std::int64_t i = (lane * lane_rows + k) * c + j;
        return DyAndXOfChannel{{dy + i, c}, {x + i, c}, mean[j], rstd[j]};
      },
      DyAndXhat());
  each(lanes.lane_count() * c, [sums = folded.sums(), products = folded.products(), sum_dy,
                                sum_dy_xhat] LOCKSTEP_DEVICE(std::int64_t i) {
    sum_dy[i] = sums(i);
    sum_dy_xhat[i] = products(i);
  });
}

template <class Gpu>
void Device<Gpu>::batch_norm_backward_apply(std::int64_t rows, std::int64_t c, float count,
                                            const float* x, const float* mean, const float* rstd,
                                            const float* gamma, const float* dy,
                                            const float* sum_dy, const float* sum_dy_xhat,
                                            float* dx) {
  each_of_channels(*gpu_, 1, rows, c, [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t j) {
    return BatchNormChannelGrad{{x + j, c}, {dy + j, c}, {dx + j, c},       mean[j],
                                rstd[j],    gamma[j],    sum_dy[j] / count, sum_dy_xhat[j] / count};
  });
}

}  // namespace lockstep::numerics::cuda
