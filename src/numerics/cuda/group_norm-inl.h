// Private: group norm for CUDA (norm.h).
#pragma once

#include "numerics/cuda/channels-inl.h"
#include "numerics/cuda/group_tile-inl.h"
#include "numerics/cuda/groups-inl.h"
#include "numerics/cuda/norm_channel-inl.h"
#include "numerics/cuda/sums-inl.h"

namespace lockstep::numerics::cuda {

struct GroupNormKernel : GroupTile {
  static constexpr int kTensors = 1, kBlockThreads = 512, kResidentBlocks = 2;

  Sides<const float> x;
  const float* gamma;
  const float* beta;
  float eps;
  bool activated;
  float* y;
  float* mean;
  float* rstd;

  struct Normalised {
    const float* x;  // in the tile
    Column<float> y;
    NormOfChannel norm;

    LOCKSTEP_DEVICE float read(int, int at) const { return x[at]; }
    LOCKSTEP_DEVICE void write(int p, int, float value) const { y(p) = norm.y(value); }
  };

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const TileOfBlock<kTensors, Thread> here(t, *this);
    const float* const values = here.tile(0);
    here.load(x, 0);
    here.arrive();
    here.template fold<1>(
        [&](int) { return [=](float(&sum)[1], int at) { sum[0] = sum[0] + values[at]; }; });
    here.keep(0, 0, AddSum(), [&](int i, float of) { return mean[here.group(i)] = of; });
    here.template fold<1>([&](int j) {
      return [values, its = here.kept(0, j)](float(&sum)[1], int at) {
        const float d = values[at] - its;
        sum[0] = spec::fma(d, d, sum[0]);
      };
    });
    here.keep(1, 0, AddSum(),
              [&](int i, float of) { return rstd[here.group(i)] = 1.0F / spec::sqrt(of + eps); });
    here.each([&](int j) {
      const int channel = here.channel(j);
      return Normalised{
          values,
          {y + here.sample() * in_tile.spatial * c + channel, c},
          {here.kept(0, j), here.kept(1, j), gamma[channel], beta[channel], activated}};
    });
  }
};

template <class Gpu>
void Device<Gpu>::group_norm(const GroupNormShape& s, Sides<const float> sides, const float* gamma,
                             const float* beta, float* y, float* mean, float* rstd) {
  const Groups g = groups_of(s);
  const Sides<const float> x = cut_somewhere(sides, s.c);
  const bool activated = s.activation == Activation::kSilu;
  const std::optional<GroupTile> tile = GroupTile::of(s, GroupNormKernel::kTensors, *gpu_);
  if (tile && in_fours(x, s.c)) {
    return gpu_->launch(tile->grid<GroupNormKernel>(),
                        GroupNormKernel{*tile, x, gamma, beta, s.eps, activated, y, mean, rstd});
  }
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
  each_of_channels(
      *gpu_, s.n, s.spatial, s.c, [=] LOCKSTEP_DEVICE(std::int64_t sample, std::int64_t j) {
        const std::int64_t statistic = g.statistic(sample, j), first = sample * g.spatial;
        return NormalisedChannel{column_of(x, g.c, first, j),
                                 {y + first * g.c + j, g.c},
                                 {mean[statistic], rstd[statistic], gamma[j], beta[j], activated}};
      });
}

struct XhatAndG {
  float xhat, g;
};

struct GroupNormGradKernel : GroupTile {
  static constexpr int kTensors = 2, kBlockThreads = 384, kResidentBlocks = 2;

  Sides<const float> x, dy;
  const float* gamma;
  const float* beta;
  const float* mean;
  const float* rstd;
  bool activated;
  Sides<float> dx;  // or null
  float* folded;    // [samples][c] of g, [samples][c] of g * xhat

  // In the tile xhat comes to where x was, and g to where dy was.
  struct Derived {
    float* x;
    float* dy;
    NormOfChannel norm;

    LOCKSTEP_DEVICE XAndG read(int, int at) const { return {x[at], dy[at]}; }
    LOCKSTEP_DEVICE void write(int, int at, const XAndG& value) const {
      const float xhat = norm.xhat(value.x);
      x[at] = xhat;
      dy[at] = norm.g(xhat, value.g);
    }
  };
  struct InputGrad {
    const float* xhat;
    const float* g;
    Column<float> dx;
    NormOfChannel norm;
    float m, q;

    LOCKSTEP_DEVICE XhatAndG read(int, int at) const { return {xhat[at], g[at]}; }
    LOCKSTEP_DEVICE void write(int p, int, const XhatAndG& value) const {
      dx(p) = norm.dx(value.xhat, value.g, m, q);
    }
  };

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const TileOfBlock<kTensors, Thread> here(t, *this);
    float* const xhats = here.tile(0);
    float* const gs = here.tile(1);
    const auto norm = [&](int j) {
      const std::int64_t statistic = here.group(here.group_of(j));
      const int channel = here.channel(j);
      return NormOfChannel{mean[statistic], rstd[statistic], gamma[channel], beta[channel],
                           activated};
    };
    here.load(x, 0);
    here.load(dy, 1);
    here.arrive();
    here.each([&](int j) { return Derived{xhats, gs, norm(j)}; });
    here.barrier();
    here.template fold<2>([&](int) {
      return [=](float(&both)[2], int at) {
        both[0] = both[0] + gs[at];
        both[1] = spec::fma(gs[at], xhats[at], both[1]);
      };
    });
    const std::int64_t first = here.sample() * c + here.channel(0);
    for (int i = t.thread(); i < 2 * in_tile.c; i += t.threads()) {
      const int which = i < in_tile.c ? 0 : 1, j = i - which * static_cast<int>(in_tile.c);
      folded[which * samples * c + first + j] = here.chains(which)(j);
    }
    if (dx.left == nullptr) return;
    for (int which = 0; which < 2; ++which)
      here.keep(which, which, AddWeighted{gamma + here.channel(0)},
                [](int, float of) { return of; });
    here.each([&](int j) {
      return InputGrad{xhats,
                       gs,
                       column_of(dx, c, here.sample() * in_tile.spatial, here.channel(j)),
                       norm(j),
                       here.kept(0, j),
                       here.kept(1, j)};
    });
  }
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
    dx(p) = norm.dx(norm.xhat(value.x), value.g, m, q);
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
  const auto gradients = [&](const ChainSums& of_g, const ChainSums& of_g_xhat) {
    if (dgamma == nullptr) return;
    tree_over_lanes(lanes, s.c, OverSamples<ChainSums>(lanes, s.c, of_g_xhat), dgamma,
                    OverSamples<ChainSums>(lanes, s.c, of_g), dbeta);
  };
  const std::optional<GroupTile> tile = GroupTile::of(s, GroupNormGradKernel::kTensors, *gpu_);
  if (tile && in_fours(x, s.c) && in_fours(dy, {})) {
    const std::int64_t all = s.n * s.c;
    const Scratch<Gpu, float> sums(*gpu_, 2 * all);
    gpu_->launch(tile->grid<GroupNormGradKernel>(),
                 GroupNormGradKernel{*tile, x, cut_somewhere(Sides<const float>(dy), s.c), gamma,
                                     beta, mean, rstd, activated, out, sums.data()});
    return gradients({sums.data(), 1, all}, {sums.data() + all, 1, all});
  }
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
  gradients(folded.sums(), folded.products());
}

}  // namespace lockstep::numerics::cuda
