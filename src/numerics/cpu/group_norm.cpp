#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/lane_sums.h"
#include "numerics/cpu/norm_kernels.h"
#include "numerics/cpu/reduce_kernels.h"

namespace lockstep::numerics {
namespace {

using Floats = std::vector<float>;

std::int64_t channels_per_group(const GroupNormShape& s) {
  LOCKSTEP_ASSERT(s.groups >= 1 && s.c % s.groups == 0,
                  std::to_string(s.c) + " channels in " + std::to_string(s.groups) + " groups");
  return s.c / s.groups;
}

// One value a group -> one a channel.
void expand(std::int64_t groups, std::int64_t per_group, const float* values, float* out) {
  for (std::int64_t j = 0; j < groups * per_group; ++j) out[j] = values[j / per_group];
}

void divide(std::int64_t n, float count, float* values) {
  for (std::int64_t i = 0; i < n; ++i) values[i] = values[i] / count;
}

}  // namespace

void Cpu::group_norm(const GroupNormShape& s, Sides<const float> x, const float* gamma,
                     const float* beta, float* y, float* mean, float* rstd) {
  const std::int64_t per_group = channels_per_group(s);
  const auto count = static_cast<float>(s.spatial * per_group);
  const ReduceKernels& sums = reduce_kernels(isa());
  const NormKernels& kernels = norm_kernels(isa());
  parallel_for(s.n, 1, [&](std::int64_t begin, std::int64_t end) {
    Floats channel(static_cast<std::size_t>(s.c)), mean_c(channel), rstd_c(channel);
    for (std::int64_t i = begin; i < end; ++i) {
      float* const means = mean + i * s.groups;
      float* const rstds = rstd + i * s.groups;
      x.for_each(s.c, [&](const float* side, std::int64_t first, std::int64_t c) {
        sums.column_sums(s.spatial, c, c, side + i * s.spatial * c, channel.data() + first);
      });
      sums.row_sums(s.groups, per_group, channel.data(), means);
      divide(s.groups, count, means);
      expand(s.groups, per_group, means, mean_c.data());
      x.for_each(s.c, [&](const float* side, std::int64_t first, std::int64_t c) {
        kernels.column_squares(s.spatial, c, c, side + i * s.spatial * c, mean_c.data() + first,
                               channel.data() + first);
      });
      sums.row_sums(s.groups, per_group, channel.data(), rstds);
      divide(s.groups, count, rstds);
      for (std::int64_t g = 0; g < s.groups; ++g) {
        rstds[g] = 1.0F / __builtin_sqrtf(rstds[g] + s.eps);
      }
      expand(s.groups, per_group, rstds, rstd_c.data());
      x.for_each(s.c, [&](const float* side, std::int64_t first, std::int64_t c) {
        kernels.normalize(s.activation, s.spatial, c, side + i * s.spatial * c,
                          mean_c.data() + first, rstd_c.data() + first, gamma + first, beta + first,
                          s.c, y + i * s.spatial * s.c + first);
      });
    }
  });
}

void Cpu::group_norm_backward(const GroupNormShape& s, const LaneBlocks& lanes,
                              Sides<const float> x, const float* gamma, const float* beta,
                              const float* mean, const float* rstd, const float* dy,
                              Sides<float> dx, float* dgamma, float* dbeta) {
  LOCKSTEP_ASSERT((dgamma == nullptr) == (dbeta == nullptr), "dgamma and dbeta go together");
  LOCKSTEP_ASSERT(dgamma == nullptr || lanes.samples() == s.n,
                  std::to_string(lanes.samples()) + " samples in lanes, " + std::to_string(s.n) +
                      " in the batch");
  const std::int64_t per_group = channels_per_group(s);
  const auto count = static_cast<float>(s.spatial * per_group);
  const bool activated = s.activation == Activation::kSilu, needed = dx.left != nullptr;
  const ReduceKernels& sums = reduce_kernels(isa());
  const NormKernels& kernels = norm_kernels(isa());
  Floats sum_g(static_cast<std::size_t>(s.n * s.c)), sum_g_xhat(sum_g);
  parallel_for(s.n, 1, [&](std::int64_t begin, std::int64_t end) {
    Floats mean_c(static_cast<std::size_t>(s.c)), rstd_c(mean_c), m_c(mean_c), q_c(mean_c);
    Floats m(static_cast<std::size_t>(s.groups)), q(m);
    Floats scratch(activated && !needed ? static_cast<std::size_t>(s.spatial * s.c) : 0);
    for (std::int64_t i = begin; i < end; ++i) {
      // What lies where in the side that begins with channel `first` and has c channels.
      const auto dx_of = [&](std::int64_t first, std::int64_t c) {
        return (first == 0 ? dx.left : dx.right) + i * s.spatial * c;
      };
      const auto through_of = [&](std::int64_t first, std::int64_t c) {
        return needed ? dx_of(first, c) : scratch.data() + s.spatial * first;
      };
      const auto dy_of = [&](std::int64_t first) { return dy + i * s.spatial * s.c + first; };
      const auto g_of = [&](std::int64_t first,
                            std::int64_t c) -> std::pair<const float*, std::int64_t> {
        if (!activated) return {dy_of(first), s.c};
        return {through_of(first, c), c};
      };
      expand(s.groups, per_group, mean + i * s.groups, mean_c.data());
      expand(s.groups, per_group, rstd + i * s.groups, rstd_c.data());
      float* const sample_g = sum_g.data() + i * s.c;
      float* const sample_g_xhat = sum_g_xhat.data() + i * s.c;
      x.for_each(s.c, [&](const float* side, std::int64_t first, std::int64_t c) {
        const float* const sample = side + i * s.spatial * c;
        if (activated) {
          kernels.through_silu(s.spatial, c, sample, mean_c.data() + first, rstd_c.data() + first,
                               gamma + first, beta + first, s.c, dy_of(first),
                               through_of(first, c));
        }
        const auto [g, g_row] = g_of(first, c);
        kernels.column_gradient_sums(s.spatial, c, c, sample, mean_c.data() + first,
                                     rstd_c.data() + first, g_row, g, sample_g + first,
                                     sample_g_xhat + first);
      });
      if (!needed) continue;
      sums.row_dots(s.groups, per_group, gamma, sample_g, m.data());
      sums.row_dots(s.groups, per_group, gamma, sample_g_xhat, q.data());
      divide(s.groups, count, m.data());
      divide(s.groups, count, q.data());
      expand(s.groups, per_group, m.data(), m_c.data());
      expand(s.groups, per_group, q.data(), q_c.data());
      x.for_each(s.c, [&](const float* side, std::int64_t first, std::int64_t c) {
        const auto [g, g_row] = g_of(first, c);
        kernels.group_input_gradient(s.spatial, c, side + i * s.spatial * c, mean_c.data() + first,
                                     rstd_c.data() + first, gamma + first, m_c.data() + first,
                                     q_c.data() + first, g_row, g, dx_of(first, c));
      });
    }
  });
  if (dgamma == nullptr) return;
  tree_over_samples(*this, lanes, s.c, sum_g_xhat.data(), dgamma);
  tree_over_samples(*this, lanes, s.c, sum_g.data(), dbeta);
}

}  // namespace lockstep::numerics
