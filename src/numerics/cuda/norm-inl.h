// Private: normalisations for CUDA (norm.h).
#pragma once

#include "lockstep/core/error.h"
#include "lockstep/numerics/spec/moments.h"
#include "lockstep/numerics/spec/scalar.h"
#include "numerics/cuda/channels-inl.h"
#include "numerics/cuda/divisor.h"
#include "numerics/cuda/sums-inl.h"

namespace lockstep::numerics::cuda {

// Rows of c values, perhaps cut in two, for kernels: without a branch.
template <class T>
Sides<T> cut_somewhere(const Sides<T>& x, std::int64_t c) {
  return {x.left, x.right == nullptr ? c : x.cut, x.right};
}

// Channel j of such rows, from a position on.
template <class T>
LOCKSTEP_DEVICE inline Column<T> column_of(const Sides<T>& x, std::int64_t c, std::int64_t position,
                                           std::int64_t j) {
  const bool left = j < x.cut;
  const std::int64_t step = left ? x.cut : c - x.cut;
  return {(left ? x.left + j : x.right + (j - x.cut)) + position * step, step};
}

// A shape for kernels: what they divide by and how many there are.
struct Groups {
  std::int64_t spatial, c, per_group, groups;
  Divisor by_per_group;

  // Of channel j of a sample: the place of its statistics among [n][groups].
  LOCKSTEP_DEVICE std::int64_t statistic(std::int64_t sample, std::int64_t channel) const {
    return sample * groups + by_per_group.quotient(channel);
  }
};

// Of group i, among [n][groups], the chain over its channels of step(acc, channel, sum), divided by
// the count of values. Up to eight channels' sums are on their way at a time.
template <class Step>
struct GroupMean {
  Groups g;
  float count;
  ChainSums sums;
  Step step;

  LOCKSTEP_DEVICE float operator()(std::int64_t i) const {
    const std::int64_t channel = i % g.groups * g.per_group;
    float total = 0.0F;
    for (std::int64_t begin = 0; begin < g.per_group; begin += kBlock) {
      const std::int64_t end = begin + kBlock < g.per_group ? begin + kBlock : g.per_group;
      std::int64_t j = begin;
      float acc = 0.0F;
      fold_some<8>(i * g.per_group, channel, end, j, acc);
      fold_some<4>(i * g.per_group, channel, end, j, acc);
      fold_some<2>(i * g.per_group, channel, end, j, acc);
      fold_some<1>(i * g.per_group, channel, end, j, acc);
      total = begin == 0 ? acc : total + acc;
    }
    return total / count;
  }

 private:
  // As long as there are kSome of them.
  template <int kSome>
  LOCKSTEP_DEVICE void fold_some(std::int64_t first, std::int64_t channel, std::int64_t end,
                                 std::int64_t& j, float& acc) const {
    for (; j + kSome <= end; j += kSome) {
      float of[kSome];
      sums.some(first + j, 1, of);
      LOCKSTEP_UNROLL
      for (int n = 0; n < kSome; ++n) acc = step(acc, channel + j + n, of[n]);
    }
  }
};
template <class Step>
GroupMean<Step> group_mean(const GroupNormShape& s, const Groups& g, const ChainSums& sums,
                           const Step& step) {
  return {g, static_cast<float>(s.spatial * g.per_group), sums, step};
}

struct AddSum {
  LOCKSTEP_DEVICE float operator()(float acc, std::int64_t, float sum) const { return acc + sum; }
};
struct AddWeighted {
  const float* gamma;
  LOCKSTEP_DEVICE float operator()(float acc, std::int64_t channel, float sum) const {
    return spec::fma(gamma[channel], sum, acc);
  }
};

inline Groups groups_of(const GroupNormShape& s) {
  LOCKSTEP_ASSERT(s.groups >= 1 && s.c % s.groups == 0,
                  std::to_string(s.c) + " channels in " + std::to_string(s.groups) + " groups");
  const std::int64_t per_group = s.c / s.groups;
  return {s.spatial, s.c, per_group, s.groups, Divisor(per_group, s.c)};
}

// What the values of a sample's channel have in common.
struct NormOfChannel {
  float mean, rstd, gamma, beta;
  bool activated;

  LOCKSTEP_DEVICE float xhat(float x) const { return (x - mean) * rstd; }
  LOCKSTEP_DEVICE float y(float x) const {
    const float z = spec::fma(xhat(x), gamma, beta);
    return activated ? scalar::silu(z) : z;
  }
  // dy behind the activation.
  LOCKSTEP_DEVICE float g(float xhat, float dy) const {
    return activated ? dy * scalar::silu_derivative(spec::fma(xhat, gamma, beta)) : dy;
  }
};

struct NormalisedChannel {
  Column<const float> x;
  Column<float> y;
  NormOfChannel norm;

  LOCKSTEP_DEVICE float read(std::int64_t p) const { return x(p); }
  LOCKSTEP_DEVICE void write(std::int64_t p, float value) const { y(p) = norm.y(value); }
};

template <class Gpu>
void Device<Gpu>::group_norm(const GroupNormShape& s, Sides<const float> sides, const float* gamma,
                             const float* beta, float* y, float* mean, float* rstd) {
  const Groups g = groups_of(s);
  const Sides<const float> x = cut_somewhere(sides, s.c);
  const ColumnSums<Gpu> values(
      *gpu_, s.n, s.spatial, s.c,
      [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
        return column_of(x, g.c, sample * g.spatial + p, j);
      });
  const auto means = group_mean(s, g, values.sums(), AddSum());
  each(s.n * s.groups, [=] LOCKSTEP_DEVICE(std::int64_t i) { mean[i] = means(i); });
  const ColumnProducts<Gpu> squares(
      *gpu_, s.n, s.spatial, s.c,
      [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
        return ColumnBeside{column_of(x, g.c, sample * g.spatial + p, j),
                            mean[g.statistic(sample, j)]};
      },
      SquaredDifference());
  const auto variances = group_mean(s, g, squares.sums(), AddSum());
  const float eps = s.eps;
  each(s.n * s.groups,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { rstd[i] = 1.0F / spec::sqrt(variances(i) + eps); });
  const bool activated = s.activation == Activation::kSilu;
  each_of_channels(
      *gpu_, s.n, s.spatial, s.c, [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t j) {
        const std::int64_t statistic = g.statistic(sample, j), first = sample * g.spatial;
        return NormalisedChannel{column_of(x, g.c, first, j),
                                 {y + first * g.c + j, g.c},
                                 {mean[statistic], rstd[statistic], gamma[j], beta[j], activated}};
      });
}

struct XAndG {
  float x, g;
};

// What gradients of group norm are made of: of a channel, from a position on.
struct NormColumn {
  struct Value {
    float x, dy;
    NormOfChannel norm;
  };
  Column<const float> x, dy;
  NormOfChannel norm;

  LOCKSTEP_DEVICE Value operator()(int k) const { return {x(k), dy(k), norm}; }
};
// The same, whose g stay where they are wanted again: silu's derivative is most of the work.
struct KeepingNormColumn : NormColumn {
  Column<float> kept;

  LOCKSTEP_DEVICE void keep(int k, const Term& term) const { kept(k) = term.u; }
};
struct GAndXhat {
  LOCKSTEP_DEVICE Term operator()(const NormColumn::Value& value) const {
    const float xhat = value.norm.xhat(value.x);
    return {value.norm.g(xhat, value.dy), xhat};
  }
};

// In g's place, or elsewhere.
struct ChannelGrad {
  Column<const float> x, g;
  NormOfChannel norm;
  Column<float> dx;
  float m, q;

  LOCKSTEP_DEVICE XAndG read(std::int64_t p) const { return {x(p), g(p)}; }
  LOCKSTEP_DEVICE void write(std::int64_t p, const XAndG& value) const {
    const float xhat = norm.xhat(value.x);
    dx(p) = (value.g * norm.gamma - spec::fma(xhat, q, m)) * norm.rstd;
  }
};

template <class Gpu>
void Device<Gpu>::group_norm_backward(const GroupNormShape& s, const LaneBlocks& lanes,
                                      Sides<const float> sides, const float* gamma,
                                      const float* beta, const float* mean, const float* rstd,
                                      const float* dy, Sides<float> dx, float* dgamma,
                                      float* dbeta) {
  LOCKSTEP_ASSERT((dgamma == nullptr) == (dbeta == nullptr), "dgamma and dbeta go together");
  const Groups g = groups_of(s);
  const Sides<const float> x = cut_somewhere(sides, s.c);
  const Sides<float> out = cut_somewhere(dx, s.c);
  const bool activated = s.activation == Activation::kSilu;
  const auto column = [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
    const std::int64_t statistic = g.statistic(sample, j), position = sample * g.spatial + p;
    return NormColumn{column_of(x, g.c, position, j),
                      {dy + position * g.c + j, g.c},
                      {mean[statistic], rstd[statistic], gamma[j], beta[j], activated}};
  };
  const auto keeping = [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
    return KeepingNormColumn{column(sample, p, j), column_of(out, g.c, sample * g.spatial + p, j)};
  };
  const bool keeps = activated && dx.left != nullptr;
  const ColumnSumsAndProducts<Gpu> folded =
      keeps ? ColumnSumsAndProducts<Gpu>(*gpu_, s.n, s.spatial, s.c, keeping, GAndXhat())
            : ColumnSumsAndProducts<Gpu>(*gpu_, s.n, s.spatial, s.c, column, GAndXhat());
  if (dx.left != nullptr) {
    const Scratch<Gpu, float> statistics(*gpu_, 2 * s.n * s.groups);
    float* const m = statistics.data();
    float* const q = m + s.n * s.groups;
    const auto means = group_mean(s, g, folded.sums(), AddWeighted{gamma}),
               products = group_mean(s, g, folded.products(), AddWeighted{gamma});
    const std::int64_t count = s.n * s.groups;
    each(2 * count, [=] LOCKSTEP_DEVICE(std::int64_t i) {
      if (i < count)
        m[i] = means(i);
      else
        q[i - count] = products(i - count);
    });
    each_of_channels(
        *gpu_, s.n, s.spatial, s.c, [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t j) {
          const std::int64_t statistic = g.statistic(sample, j);
          const NormColumn of = column(sample, 0, j);
          const Column<float> to = column_of(out, g.c, sample * g.spatial, j);
          return ChannelGrad{of.x,         keeps ? Column<const float>{to.first, to.step} : of.dy,
                             of.norm,      to,
                             m[statistic], q[statistic]};
        });
  }
  if (dgamma == nullptr) return;
  tree_over_lanes(lanes, s.c, OverSamples<ChainSums>(lanes, s.c, folded.products()), dgamma,
                  OverSamples<ChainSums>(lanes, s.c, folded.sums()), dbeta);
}

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
