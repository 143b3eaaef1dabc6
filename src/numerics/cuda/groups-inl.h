// Private: groups of channels, and what their chains say (norm.h), for CUDA.
#pragma once

#include "lockstep/core/error.h"
#include "numerics/cuda/chains-inl.h"
#include "numerics/cuda/divisor.h"

namespace lockstep::numerics::cuda {

// A shape for kernels: what they divide by and how many there are.
struct Groups {
  std::int64_t spatial, c, per_group, groups;
  Divisor by_per_group, by_groups;

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
    const std::int64_t channel = g.by_groups.remainder(i) * g.per_group;
    const float total = blocked_sum(g.per_group, [&](std::int64_t j, std::int64_t end) {
      float acc = 0.0F;
      fold_some<8>(i * g.per_group, channel, end, j, acc);
      fold_some<4>(i * g.per_group, channel, end, j, acc);
      fold_some<2>(i * g.per_group, channel, end, j, acc);
      fold_some<1>(i * g.per_group, channel, end, j, acc);
      return acc;
    });
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
  return {s.spatial,
          s.c,
          per_group,
          s.groups,
          Divisor(per_group, s.c),
          Divisor(s.groups, s.n * s.groups)};
}

}  // namespace lockstep::numerics::cuda
