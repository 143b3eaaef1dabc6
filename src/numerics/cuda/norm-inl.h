// Private: normalisations for CUDA (norm.h).
#pragma once

#include "lockstep/core/error.h"
#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/moments.h"
#include "lockstep/numerics/spec/scalar.h"
#include "numerics/cuda/divisor.h"
#include "numerics/cuda/elements.h"
#include "numerics/cuda/sums-inl.h"

namespace lockstep::numerics::cuda {

// Rows of c values, perhaps cut in two, for kernels: without a branch.
template <class T>
Sides<T> cut_somewhere(const Sides<T>& x, std::int64_t c) {
  return {x.left, x.right == nullptr ? c : x.cut, x.right};
}

// Where channel j of a position lies in such rows.
template <class T>
LOCKSTEP_DEVICE inline T& at(const Sides<T>& x, std::int64_t c, std::int64_t position,
                             std::int64_t j) {
  const bool left = j < x.cut;
  T* const side = left ? x.left : x.right;
  return side[position * (left ? x.cut : c - x.cut) + (left ? j : j - x.cut)];
}

// A shape for kernels: what they divide by and how many there are.
struct Groups {
  std::int64_t spatial, c, per_group, groups;
  Divisor by_spatial, by_c, by_per_group;

  // Of channel j of a sample: the place of its statistics among [n][groups].
  LOCKSTEP_DEVICE std::int64_t statistic(std::int64_t sample, std::int64_t channel) const {
    return sample * groups + by_per_group.quotient(channel);
  }

  struct Place {
    std::int64_t position, sample, channel;
  };
  // Of element i of all.
  LOCKSTEP_DEVICE Place place(std::int64_t i) const {
    const std::int64_t position = by_c.quotient(i);
    return {position, by_spatial.quotient(position), i - position * c};
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
  const std::int64_t positions = s.n * s.spatial, per_group = s.c / s.groups;
  return {s.spatial,
          s.c,
          per_group,
          s.groups,
          Divisor(s.spatial, positions),
          Divisor(s.c, positions * s.c),
          Divisor(per_group, s.c)};
}

template <class Gpu>
void Device<Gpu>::group_norm(const GroupNormShape& s, Sides<const float> sides, const float* gamma,
                             const float* beta, float* y, float* mean, float* rstd) {
  const Groups g = groups_of(s);
  const Sides<const float> x = cut_somewhere(sides, s.c);
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
        return Term{at(x, g.c, sample * g.spatial + p, j), mean[g.statistic(sample, j)]};
      },
      SquaredDifference());
  const auto variances = group_mean(s, g, AddChannel{s.c, squares.sums()});
  const float eps = s.eps;
  each(s.n * s.groups,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { rstd[i] = 1.0F / spec::sqrt(variances(i) + eps); });
  const bool activated = s.activation == Activation::kSilu;
  elements(
      *gpu_, s.n * s.spatial * s.c, y,
      [=] LOCKSTEP_DEVICE(std::int64_t i) {
        const Groups::Place here = g.place(i);
        const std::int64_t statistic = g.statistic(here.sample, here.channel);
        return Floats<5>{at(x, g.c, here.position, here.channel), mean[statistic], rstd[statistic],
                         gamma[here.channel], beta[here.channel]};
      },
      [=] LOCKSTEP_DEVICE(const Floats<5>& of) {
        const float z = spec::fma((of.of[0] - of.of[1]) * of.of[2], of.of[3], of.of[4]);
        return activated ? scalar::silu(z) : z;
      });
}

// What a gradient of group norm's input is made of.
struct GroupNormValue {
  float x, mean, rstd, dy, gamma, beta;
  LOCKSTEP_DEVICE float xhat() const { return (x - mean) * rstd; }
  // dy behind the activation.
  LOCKSTEP_DEVICE float g(bool activated) const {
    return activated ? dy * scalar::silu_derivative(spec::fma(xhat(), gamma, beta)) : dy;
  }
};

struct GroupNormGrad {
  GroupNormValue value;
  float m, q;
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
  const bool activated = s.activation == Activation::kSilu;
  const Scratch<Gpu, float> statistics(*gpu_, 2 * s.n * s.groups);
  float* const m = statistics.data();
  float* const q = m + s.n * s.groups;
  const auto value = [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t position,
                                         std::int64_t j) {
    const std::int64_t statistic = g.statistic(sample, j);
    return GroupNormValue{at(x, g.c, position, j), mean[statistic], rstd[statistic],
                          dy[position * g.c + j],  gamma[j],        beta[j]};
  };
  const ColumnSumsAndProducts<Gpu> folded(
      *gpu_, s.n, s.spatial, s.c,
      [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
        return value(sample, sample * g.spatial + p, j);
      },
      [=] LOCKSTEP_DEVICE(const GroupNormValue& of) {
        return Term{of.g(activated), of.xhat()};
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
    const Sides<float> out = cut_somewhere(dx, s.c);
    each_together(
        *gpu_, s.n * s.spatial * s.c,
        [=] LOCKSTEP_DEVICE(std::int64_t i) {
          const Groups::Place here = g.place(i);
          const std::int64_t statistic = g.statistic(here.sample, here.channel);
          return GroupNormGrad{value(here.sample, here.position, here.channel), m[statistic],
                               q[statistic]};
        },
        [=] LOCKSTEP_DEVICE(std::int64_t i, const GroupNormGrad& of) {
          const Groups::Place here = g.place(i);
          at(out, g.c, here.position, here.channel) =
              (of.value.g(activated) * of.value.gamma - spec::fma(of.value.xhat(), of.q, of.m)) *
              of.value.rstd;
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
      *gpu_, lanes.lane_count(), lane_rows, c, m2,
      [=] LOCKSTEP_DEVICE(std::int64_t lane, std::int64_t k, std::int64_t j) {
        return Term{x[(lane * lane_rows + k) * c + j], mean[lane * c + j]};
      },
      SquaredDifference());
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
  const Divisor by_c(c, rows * c);
  elements(
      *gpu_, rows * c, y,
      [=] LOCKSTEP_DEVICE(std::int64_t i) {
        const std::int64_t j = by_c.remainder(i);
        return Floats<5>{x[i], mean[j], rstd[j], gamma[j], beta[j]};
      },
      [] LOCKSTEP_DEVICE(const Floats<5>& of) {
        return spec::fma((of.of[0] - of.of[1]) * of.of[2], of.of[3], of.of[4]);
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
        return Floats<4>{dy[i], x[i], mean[j], rstd[j]};
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
  const Divisor by_c(c, rows * c);
  elements(
      *gpu_, rows * c, dx,
      [=] LOCKSTEP_DEVICE(std::int64_t i) {
        const std::int64_t j = by_c.remainder(i);
        return Floats<7>{x[i], mean[j], rstd[j], gamma[j], dy[i], sum_dy[j], sum_dy_xhat[j]};
      },
      [=] LOCKSTEP_DEVICE(const Floats<7>& of) {
        const float xhat = (of.of[0] - of.of[1]) * of.of[2];
        return of.of[3] * of.of[2] *
               (of.of[4] - spec::fma(xhat, of.of[6] / count, of.of[5] / count));
      });
}

}  // namespace lockstep::numerics::cuda
