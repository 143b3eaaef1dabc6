#include <string>
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

void Cpu::group_norm(const GroupNormShape& s, const float* x, const float* gamma, const float* beta,
                     float* y, float* mean, float* rstd) {
  const std::int64_t per_group = channels_per_group(s);
  const auto count = static_cast<float>(s.spatial * per_group);
  const ReduceKernels& sums = reduce_kernels(isa());
  const NormKernels& kernels = norm_kernels(isa());
  parallel_for(s.n, 1, [&](std::int64_t begin, std::int64_t end) {
    Floats channel(static_cast<std::size_t>(s.c)), mean_c(channel), rstd_c(channel);
    for (std::int64_t i = begin; i < end; ++i) {
      const float* const sample = x + i * s.spatial * s.c;
      float* const means = mean + i * s.groups;
      float* const rstds = rstd + i * s.groups;
      sums.column_sums(s.spatial, s.c, s.c, sample, channel.data());
      sums.row_sums(s.groups, per_group, channel.data(), means);
      divide(s.groups, count, means);
      expand(s.groups, per_group, means, mean_c.data());
      kernels.column_squares(s.spatial, s.c, s.c, sample, mean_c.data(), channel.data());
      sums.row_sums(s.groups, per_group, channel.data(), rstds);
      divide(s.groups, count, rstds);
      for (std::int64_t g = 0; g < s.groups; ++g) {
        rstds[g] = 1.0F / __builtin_sqrtf(rstds[g] + s.eps);
      }
      expand(s.groups, per_group, rstds, rstd_c.data());
      kernels.normalize(s.activation, s.spatial, s.c, sample, mean_c.data(), rstd_c.data(), gamma,
                        beta, y + i * s.spatial * s.c);
    }
  });
}

void Cpu::group_norm_backward(const GroupNormShape& s, const LaneBlocks& lanes, const float* x,
                              const float* gamma, const float* beta, const float* mean,
                              const float* rstd, const float* dy, float* dx, float* dgamma,
                              float* dbeta) {
  LOCKSTEP_ASSERT((dgamma == nullptr) == (dbeta == nullptr), "dgamma and dbeta go together");
  LOCKSTEP_ASSERT(dgamma == nullptr || lanes.samples() == s.n,
                  std::to_string(lanes.samples()) + " samples in lanes, " + std::to_string(s.n) +
                      " in the batch");
  const std::int64_t per_group = channels_per_group(s);
  const std::int64_t size = s.spatial * s.c;
  const auto count = static_cast<float>(s.spatial * per_group);
  const ReduceKernels& sums = reduce_kernels(isa());
  const NormKernels& kernels = norm_kernels(isa());
  Floats sum_g(static_cast<std::size_t>(s.n * s.c)), sum_g_xhat(sum_g);
  parallel_for(s.n, 1, [&](std::int64_t begin, std::int64_t end) {
    Floats mean_c(static_cast<std::size_t>(s.c)), rstd_c(mean_c), m_c(mean_c), q_c(mean_c);
    Floats m(static_cast<std::size_t>(s.groups)), q(m);
    const bool activated = s.activation == Activation::kSilu;
    Floats scratch(activated && dx == nullptr ? static_cast<std::size_t>(size) : 0);
    for (std::int64_t i = begin; i < end; ++i) {
      const float* const sample = x + i * size;
      expand(s.groups, per_group, mean + i * s.groups, mean_c.data());
      expand(s.groups, per_group, rstd + i * s.groups, rstd_c.data());
      const float* g = dy + i * size;
      if (activated) {
        float* const through = dx == nullptr ? scratch.data() : dx + i * size;
        kernels.through_silu(s.spatial, s.c, sample, mean_c.data(), rstd_c.data(), gamma, beta, g,
                             through);
        g = through;
      }
      float* const sample_g = sum_g.data() + i * s.c;
      float* const sample_g_xhat = sum_g_xhat.data() + i * s.c;
      kernels.column_gradient_sums(s.spatial, s.c, s.c, sample, mean_c.data(), rstd_c.data(), g,
                                   sample_g, sample_g_xhat);
      if (dx == nullptr) continue;
      sums.row_dots(s.groups, per_group, gamma, sample_g, m.data());
      sums.row_dots(s.groups, per_group, gamma, sample_g_xhat, q.data());
      divide(s.groups, count, m.data());
      divide(s.groups, count, q.data());
      expand(s.groups, per_group, m.data(), m_c.data());
      expand(s.groups, per_group, q.data(), q_c.data());
      kernels.group_input_gradient(s.spatial, s.c, sample, mean_c.data(), rstd_c.data(), gamma,
                                   m_c.data(), q_c.data(), g, dx + i * size);
    }
  });
  if (dgamma == nullptr) return;
  tree_over_samples(*this, lanes, s.c, sum_g_xhat.data(), dgamma);
  tree_over_samples(*this, lanes, s.c, sum_g.data(), dbeta);
}

}  // namespace lockstep::numerics
