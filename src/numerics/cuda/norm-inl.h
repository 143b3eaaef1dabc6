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

// out[n][groups] = chain over each group's channels of f(sample, channel), divided by count.
template <class Gpu, class F>
void group_means(Gpu& gpu, const GroupNormShape& s, const Groups& g, const F& f, float* out) {
  const auto count = static_cast<float>(s.spatial * g.per_group);
  const auto body = [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t sample = i / g.groups, first = i % g.groups * g.per_group;
    out[i] = blocked_chain(g.per_group,
                           [&](float acc, std::int64_t j) { return f(acc, sample, first + j); }) /
             count;
  };
  gpu.launch(grid_of(s.n * s.groups), Each<decltype(body)>{s.n * s.groups, body});
}

struct AddChannel {
  std::int64_t c;
  const float* sums;
  LOCKSTEP_DEVICE float operator()(float acc, std::int64_t sample, std::int64_t channel) const {
    return acc + sums[sample * c + channel];
  }
};
struct AddWeighted {
  std::int64_t c;
  const float* gamma;
  const float* sums;
  LOCKSTEP_DEVICE float operator()(float acc, std::int64_t sample, std::int64_t channel) const {
    return spec::fma(gamma[channel], sums[sample * c + channel], acc);
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
  const Scratch<Gpu, float> channels(*gpu_, s.n * s.c);
  float* const sums = channels.data();
  column_sums(
      *gpu_, s.n, s.spatial, s.c,
      [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
        return at(x, g.c, sample * g.spatial + p, j);
      },
      sums);
  group_means(*gpu_, s, g, AddChannel{s.c, sums}, mean);
  column_dots(
      *gpu_, s.n, s.spatial, s.c,
      [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
        const float d = at(x, g.c, sample * g.spatial + p, j) - mean[g.statistic(sample, j)];
        return Term{d, d};
      },
      sums);
  group_means(*gpu_, s, g, AddChannel{s.c, sums}, rstd);
  const float eps = s.eps;
  each(s.n * s.groups,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { rstd[i] = 1.0F / spec::sqrt(rstd[i] + eps); });
  const bool activated = s.activation == Activation::kSilu;
  each(s.n * s.spatial * s.c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t position = i / g.c, j = i % g.c,
                       statistic = g.statistic(position / g.spatial, j);
    const float xhat = (at(x, g.c, position, j) - mean[statistic]) * rstd[statistic];
    const float z = spec::fma(xhat, gamma[j], beta[j]);
    y[i] = activated ? scalar::silu(z) : z;
  });
}

// dgamma or dbeta: a lane's samples in order, the first as it is, then the tree.
template <class Gpu>
void tree_over_samples(Gpu& gpu, const LaneBlocks& lanes, std::int64_t width, const float* values,
                       float* out) {
  const Scratch<Gpu, float> sums(gpu, lanes.lane_count() * width);
  float* const to = sums.data();
  const std::int64_t samples = lanes.samples_per_lane, n = lanes.lane_count() * width;
  const auto body = [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const float* const lane = values + i / width * samples * width + i % width;
    float sum = lane[0];
    for (std::int64_t k = 1; k < samples; ++k) sum += lane[k * width];
    to[i] = sum;
  };
  gpu.launch(grid_of(n), Each<decltype(body)>{n, body});
  tree_over_lanes(gpu, lanes, width, to, out);
}

template <class Gpu>
void Device<Gpu>::group_norm_backward(const GroupNormShape& s, const LaneBlocks& lanes,
                                      Sides<const float> x, const float* gamma, const float* beta,
                                      const float* mean, const float* rstd, const float* dy,
                                      Sides<float> dx, float* dgamma, float* dbeta) {
  LOCKSTEP_ASSERT((dgamma == nullptr) == (dbeta == nullptr), "dgamma and dbeta go together");
  const Groups g = groups_of(s);
  const bool activated = s.activation == Activation::kSilu;
  const Scratch<Gpu, float> gradients(*gpu_, 2 * s.n * s.c), statistics(*gpu_, 2 * s.n * s.groups);
  float* const sum_g = gradients.data();
  float* const sum_g_xhat = sum_g + s.n * s.c;
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
  column_sums(
      *gpu_, s.n, s.spatial, s.c,
      [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
        const std::int64_t position = sample * g.spatial + p;
        return g_of(position, j, xhat_of(sample, position, j));
      },
      sum_g);
  column_dots(
      *gpu_, s.n, s.spatial, s.c,
      [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t p, std::int64_t j) {
        const std::int64_t position = sample * g.spatial + p;
        const float xhat = xhat_of(sample, position, j);
        return Term{g_of(position, j, xhat), xhat};
      },
      sum_g_xhat);
  if (dx.left != nullptr) {
    group_means(*gpu_, s, g, AddWeighted{s.c, gamma, sum_g}, m);
    group_means(*gpu_, s, g, AddWeighted{s.c, gamma, sum_g_xhat}, q);
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
  tree_over_samples(*gpu_, lanes, s.c, sum_g_xhat, dgamma);
  tree_over_samples(*gpu_, lanes, s.c, sum_g, dbeta);
}

template <class Gpu>
void Device<Gpu>::layer_norm(std::int64_t rows, std::int64_t c, float eps, const float* x,
                             const float* gamma, const float* beta, float* y, float* mean,
                             float* rstd) {
  const auto count = static_cast<float>(c);
  row_sums(rows, c, x, mean);
  each(rows, [=] LOCKSTEP_DEVICE(std::int64_t i) { mean[i] = mean[i] / count; });
  row_products(
      *gpu_, c, rows,
      [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t j, std::int64_t row) {
        const float d = x[row * c + j] - mean[row];
        return Term{d, d};
      },
      rstd);
  each(rows,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { rstd[i] = 1.0F / spec::sqrt(rstd[i] / count + eps); });
  each(rows * c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const float xhat = (x[i] - mean[i / c]) * rstd[i / c];
    y[i] = gamma == nullptr ? xhat : spec::fma(xhat, gamma[i % c], beta[i % c]);
  });
}

template <class Gpu>
void Device<Gpu>::layer_norm_backward(std::int64_t rows, std::int64_t c, const LaneBlocks& lanes,
                                      std::int64_t rows_per_sample, const float* x,
                                      const float* gamma, const float* mean, const float* rstd,
                                      const float* dy, float* dx, float* dgamma, float* dbeta) {
  LOCKSTEP_ASSERT((dgamma == nullptr) == (dbeta == nullptr), "dgamma and dbeta go together");
  const auto count = static_cast<float>(c);
  const auto xhat_of = [=] LOCKSTEP_DEVICE(std::int64_t i) {
    return (x[i] - mean[i / c]) * rstd[i / c];
  };
  const auto h_of = [=] LOCKSTEP_DEVICE(std::int64_t i) {
    return gamma == nullptr ? dy[i] : dy[i] * gamma[i % c];
  };
  if (dx != nullptr) {
    const Scratch<Gpu, float> means(*gpu_, 2 * rows);
    float* const m = means.data();
    float* const q = m + rows;
    row_chains(
        *gpu_, c, rows,
        [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t j, std::int64_t row) {
          return h_of(row * c + j);
        },
        m);
    row_products(
        *gpu_, c, rows,
        [=] LOCKSTEP_DEVICE(std::int64_t, std::int64_t j, std::int64_t row) {
          return Term{h_of(row * c + j), xhat_of(row * c + j)};
        },
        q);
    each(2 * rows, [=] LOCKSTEP_DEVICE(std::int64_t i) { m[i] = m[i] / count; });
    each(rows * c, [=] LOCKSTEP_DEVICE(std::int64_t i) {
      dx[i] = (h_of(i) - spec::fma(xhat_of(i), q[i / c], m[i / c])) * rstd[i / c];
    });
  }
  if (dgamma == nullptr) return;
  const Scratch<Gpu, float> sums(*gpu_, lanes.lane_count() * c);
  const std::int64_t lane_rows = lanes.samples_per_lane * rows_per_sample;
  sums_of_columns(*gpu_, lanes.lane_count(), lane_rows, c, dy, sums.data());
  tree_over_lanes(*gpu_, lanes, c, sums.data(), dbeta);
  column_dots(
      *gpu_, lanes.lane_count(), lane_rows, c,
      [=] LOCKSTEP_DEVICE(std::int64_t lane, std::int64_t k, std::int64_t j) {
        const std::int64_t i = (lane * lane_rows + k) * c + j;
        return Term{dy[i], xhat_of(i)};
      },
      sums.data());
  tree_over_lanes(*gpu_, lanes, c, sums.data(), dgamma);
}

template <class Gpu>
void Device<Gpu>::lane_moments(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c,
                               const float* x, float* mean, float* m2) {
  const std::int64_t lane_rows = lanes.samples_per_lane * rows, n = lanes.lane_count() * c;
  const auto count = static_cast<float>(lane_rows);
  sums_of_columns(*gpu_, lanes.lane_count(), lane_rows, c, x, mean);
  each(n, [=] LOCKSTEP_DEVICE(std::int64_t i) { mean[i] = mean[i] / count; });
  column_dots(
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
  sums_of_columns(*gpu_, lanes.lane_count(), lane_rows, c, dy, sum_dy);
  column_dots(
      *gpu_, lanes.lane_count(), lane_rows, c,
      [=] LOCKSTEP_DEVICE(std::int64_t lane, std::int64_t k, std::int64_t j) {
        const std::int64_t i = (lane * lane_rows + k) * c + j;
        return Term{dy[i], (x[i] - mean[j]) * rstd[j]};
      },
      sum_dy_xhat);
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
