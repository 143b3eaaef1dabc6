// Private: normalisations for CUDA (norm.h).
#pragma once

#include "lockstep/core/error.h"
#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/moments.h"
#include "lockstep/numerics/spec/scalar.h"
#include "numerics/cuda/sums-inl.h"

namespace lockstep::numerics::cuda {

// Where channel j of a position lies in rows that may be cut in two.
template <class T>
LOCKSTEP_DEVICE inline T& at(const Sides<T>& x, std::int64_t c, std::int64_t position,
                             std::int64_t j) {
  if (x.right == nullptr) return x.left[position * c + j];
  if (j < x.cut) return x.left[position * x.cut + j];
  return x.right[position * (c - x.cut) + j - x.cut];
}

// A shape for kernels: what they divide by and how many there are.
struct Groups {
  std::int64_t spatial, c, per_group, groups;

  // Of channel i / c of sample ...: the place of its statistics among [n][groups].
  LOCKSTEP_DEVICE std::int64_t statistic(std::int64_t sample, std::int64_t channel) const {
    return sample * groups + channel / per_group;
  }
};

// Of group i, among [n][groups], the chain over its channels of f(acc, sample, channel), divided by
// the count of values.
template <class F>
struct GroupMean {
  Groups g;
  float count;
  F f;

  LOCKSTEP_DEVICE float operator()(std::int64_t i) const {
    const std::int64_t sample = i / g.groups, first = i % g.groups * g.per_group;
    return blocked_chain(g.per_group,
                         [&](float acc, std::int64_t j) { return f(acc, sample, first + j); }) /
           count;
  }
};
template <class F>
GroupMean<F> group_mean(const GroupNormShape& s, const Groups& g, const F& f) {
  return {g, static_cast<float>(s.spatial * g.per_group), f};
}

struct AddChannel {
  std::int64_t c;
  ChainSums sums;
  LOCKSTEP_DEVICE float operator()(float acc, std::int64_t sample, std::int64_t channel) const {
    return acc + sums(sample * c + channel);
  }
};
struct AddWeighted {
  std::int64_t c;
  const float* gamma;
  ChainSums sums;
  LOCKSTEP_DEVICE float operator()(float acc, std::int64_t sample, std::int64_t channel) const {
    return spec::fma(gamma[channel], sums(sample * c + channel), acc);
  }
};

inline Groups groups_of(const GroupNormShape& s) {
  LOCKSTEP_ASSERT(s.groups >= 1 && s.c % s.groups == 0,
                  std::to_string(s.c) + " channels in " + std::to_string(s.groups) + " groups");
  return {s.spatial, s.c, s.c / s.groups, s.groups};
}

template <class Gpu>
void Device<Gpu>::group_norm(const GroupNormShape& s, Sides<const float> x, const float* gamma,
                             const float* beta, float* y, float* mean, float* rstd) {
  const Groups g = groups_of(s);
  const ColumnSums<Gpu> values(
      *gpu_, s.n, s.spatial, s.c,
      [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
        return at(x, g.c, sample * g.spatial + p, j);
      });
  const auto means = group_mean(s, g, AddChannel{s.c, values.sums()});
  each(s.n * s.groups, [=] LOCKSTEP_DEVICE(std::int64_t i) { mean[i] = means(i); });
  const ColumnProducts<Gpu> squares(
      *gpu_, s.n, s.spatial, s.c,
      [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
        const float d = at(x, g.c, sample * g.spatial + p, j) - mean[g.statistic(sample, j)];
        return Term{d, d};
      });
  const auto variances = group_mean(s, g, AddChannel{s.c, squares.sums()});
  const float eps = s.eps;
  each(s.n * s.groups,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { rstd[i] = 1.0F / spec::sqrt(variances(i) + eps); });
  const bool activated = s.activation == Activation::kSilu;
  each(s.n * s.spatial * s.c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t position = i / g.c, j = i % g.c,
                       statistic = g.statistic(position / g.spatial, j);
    const float xhat = (at(x, g.c, position, j) - mean[statistic]) * rstd[statistic];
    const float z = spec::fma(xhat, gamma[j], beta[j]);
    y[i] = activated ? scalar::silu(z) : z;
  });
}

template <class Gpu>
void Device<Gpu>::group_norm_backward(const GroupNormShape& s, const LaneBlocks& lanes,
                                      Sides<const float> x, const float* gamma, const float* beta,
                                      const float* mean, const float* rstd, const float* dy,
                                      Sides<float> dx, float* dgamma, float* dbeta) {
  LOCKSTEP_ASSERT((dgamma == nullptr) == (dbeta == nullptr), "dgamma and dbeta go together");
  const Groups g = groups_of(s);
  const bool activated = s.activation == Activation::kSilu;
  const Scratch<Gpu, float> statistics(*gpu_, 2 * s.n * s.groups);
  float* const m = statistics.data();
  float* const q = m + s.n * s.groups;
  const auto xhat_of = [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t position,
                                           std::int64_t j) {
    const std::int64_t statistic = g.statistic(sample, j);
    return (at(x, g.c, position, j) - mean[statistic]) * rstd[statistic];
  };
  const auto g_of = [=] LOCKSTEP_DEVICE(std::int64_t position, std::int64_t j, float xhat) {
    const float d = dy[position * g.c + j];
    return activated ? d * scalar::silu_derivative(spec::fma(xhat, gamma[j], beta[j])) : d;
  };
  const ColumnSumsAndProducts<Gpu> folded(
      *gpu_, s.n, s.spatial, s.c,
      [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
        const std::int64_t position = sample * g.spatial + p;
        const float xhat = xhat_of(sample, position, j);
        return Term{g_of(position, j, xhat), xhat};
      });
  if (dx.left != nullptr) {
    const auto means = group_mean(s, g, AddWeighted{s.c, gamma, folded.sums()}),
               products = group_mean(s, g, AddWeighted{s.c, gamma, folded.products()});
    const std::int64_t count = s.n * s.groups;
    each(2 * count, [=] LOCKSTEP_DEVICE(std::int64_t i) {
      if (i < count)
        m[i] = means(i);
      else
        q[i - count] = products(i - count);
    });
    each(s.n * s.spatial * s.c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
      const std::int64_t position = i / g.c, j = i % g.c, sample = position / g.spatial,
                         statistic = g.statistic(sample, j);
      const float xhat = xhat_of(sample, position, j);
      at(dx, g.c, position, j) =
          (g_of(position, j, xhat) * gamma[j] - spec::fma(xhat, q[statistic], m[statistic])) *
          rstd[statistic];
    });
  }
  if (dgamma == nullptr) return;
  const std::int64_t samples = lanes.samples_per_lane;
  tree_over_lanes(lanes, s.c, OverSamples<ChainSums>{samples, s.c, folded.products()}, dgamma,
                  OverSamples<ChainSums>{samples, s.c, folded.sums()}, dbeta);
}

template <class Gpu>
void Device<Gpu>::lane_moments(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c,
                               const float* x, float* mean, float* m2) {
  const std::int64_t lane_rows = lanes.samples_per_lane * rows, n = lanes.lane_count() * c;
  const auto count = static_cast<float>(lane_rows);
  const ColumnSums<Gpu> folded(*gpu_, lanes.lane_count(), lane_rows, c, Columns{x, lane_rows, c});
  each(n, [=, sums = folded.sums()] LOCKSTEP_DEVICE(std::int64_t i) { mean[i] = sums(i) / count; });
  chains<Neighbours::kChains, Fold::kProducts>(
      *gpu_, lanes.lane_count(), lane_rows, c,
      [=] LOCKSTEP_DEVICE(std::int64_t lane, std::int64_t k, std::int64_t j) {
        const float d = x[(lane * lane_rows + k) * c + j] - mean[lane * c + j];
        return Term{d, d};
      },
      m2);
}

template <class Gpu>
void Device<Gpu>::merge_moments(std::int64_t lanes, std::int64_t c, float count, const float* rows,
                                float* mean, float* variance) {
  each(c, [=] LOCKSTEP_DEVICE(std::int64_t j) {
    const Moments merged = fold_tree<Moments>(
        lanes,
        [&](std::int64_t lane) {
          return Moments{count, rows[2 * lane * c + j], rows[(2 * lane + 1) * c + j]};
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
  each(rows * c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t j = i % c;
    y[i] = spec::fma((x[i] - mean[j]) * rstd[j], gamma[j], beta[j]);
  });
}

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
        return Term{dy[i], (x[i] - mean[j]) * rstd[j]};
      });
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
  each(rows * c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t j = i % c;
    const float xhat = (x[i] - mean[j]) * rstd[j];
    dx[i] =
        gamma[j] * rstd[j] * (dy[i] - spec::fma(xhat, sum_dy_xhat[j] / count, sum_dy[j] / count));
  });
}

}  // namespace lockstep::numerics::cuda
