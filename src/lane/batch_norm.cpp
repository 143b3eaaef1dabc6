#include "lockstep/lane/batch_norm.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/elementwise.h"
#include "lockstep/numerics/norm.h"
#include "lockstep/ops/view.h"

namespace lockstep::lane {
namespace {

struct Statistics {
  Tensor mean, variance;  // [C], biased variance
  float count = 0;
};

// Moments of every lane, merged over all lanes in the tree.
Statistics batch_statistics(Context& context, const Tensor& x, std::int64_t rows, std::int64_t c) {
  const std::int64_t mine = context.lanes().lane_count();
  std::vector<float> local(static_cast<std::size_t>(2 * mine * c));  // [lane][mean, m2][C]
  std::vector<float> mean(static_cast<std::size_t>(mine * c)), m2(mean.size());
  numerics::lane_moments(context.lanes(), rows, c, ops::read(x), mean.data(), m2.data());
  for (std::int64_t lane = 0; lane < mine; ++lane) {
    std::copy_n(mean.data() + lane * c, c, local.data() + 2 * lane * c);
    std::copy_n(m2.data() + lane * c, c, local.data() + (2 * lane + 1) * c);
  }
  const std::vector<float> all = (*context.lane_gather())(local, 2 * c);
  const auto count = static_cast<float>(context.lanes().samples_per_lane * rows);
  Statistics result{ops::empty({c}), ops::empty({c}), 0};
  for (std::int64_t j = 0; j < c; ++j) {
    const numerics::Moments merged = numerics::tree_fold(
        std::int64_t{0}, context.plan().lanes(),
        [&](std::int64_t lane) {
          const float* at = all.data() + 2 * lane * c + j;
          return numerics::Moments{count, at[0], at[c]};
        },
        numerics::merge);
    ops::write(result.mean)[j] = merged.mean;
    ops::write(result.variance)[j] = merged.m2 / merged.count;
    result.count = merged.count;
  }
  return result;
}

// r = fma(momentum, value - r, r)
void track_running(float momentum, const float* value, std::int64_t c, Tensor& running) {
  Tensor difference = ops::empty({c});
  numerics::binary(numerics::Binary::kSubtract, c, value, ops::read(running),
                   ops::write(difference));
  numerics::scale_add(c, momentum, ops::read(difference), ops::read(running), ops::write(running));
}

Tensor rstd_of(const Tensor& variance, float eps) {
  Tensor rstd = ops::empty(variance.sizes());
  for (std::int64_t j = 0; j < rstd.numel(); ++j)
    ops::write(rstd)[j] = ops::read(variance)[j] + eps;
  numerics::unary(numerics::Unary::kRsqrt, rstd.numel(), ops::read(rstd), ops::write(rstd));
  return rstd;
}

}  // namespace

Tensor batch_norm(Context& context, const Tensor& x_in, const Tensor& gamma_in,
                  const Tensor& beta_in, BatchNormState& state, bool track) {
  const Tensor x = ops::bare(x_in).contiguous(), gamma = ops::first_part(gamma_in).contiguous(),
               beta = ops::first_part(beta_in).contiguous();
  const std::int64_t c = x.size(-1), total = x.numel() / c, rows = total / x.size(0);
  Tensor y = ops::empty(x.sizes());
  if (!context.training()) {
    numerics::batch_norm_apply(total, c, ops::read(x), ops::read(state.running_mean),
                               ops::read(rstd_of(state.running_var, state.eps)), ops::read(gamma),
                               ops::read(beta), ops::write(y));
    return y;
  }
  const Statistics batch = batch_statistics(context, x, rows, c);
  const Tensor rstd = rstd_of(batch.variance, state.eps);
  numerics::batch_norm_apply(total, c, ops::read(x), ops::read(batch.mean), ops::read(rstd),
                             ops::read(gamma), ops::read(beta), ops::write(y));
  if (track && !context.is_shadow()) {
    LOCKSTEP_ASSERT(batch.count > 1, "batch normalisation needs more than one value a channel");
    Tensor unbiased = ops::empty({c});
    numerics::scale(c, batch.count / (batch.count - 1), ops::read(batch.variance),
                    ops::write(unbiased));
    track_running(state.momentum, ops::read(batch.mean), c, state.running_mean);
    track_running(state.momentum, ops::read(unbiased), c, state.running_var);
  }
  return ops::record_with_parameters(
      "batch_norm", {x_in, gamma_in, beta_in}, y, ops::Differentiable::kOnce,
      [gather = context.lane_gather(), lanes = context.lanes(), all_lanes = context.plan().lanes(),
       x, gamma, mean = batch.mean, rstd, count = batch.count, rows, c,
       total](const Tensor& dy, const std::vector<bool>&) -> ops::Tensors {
        const std::int64_t mine = lanes.lane_count();
        std::vector<float> sum_dy(static_cast<std::size_t>(mine * c)), sum_dy_xhat(sum_dy.size()),
            local;
        numerics::batch_norm_backward_sums(lanes, rows, c, ops::read(x), ops::read(mean),
                                           ops::read(rstd), ops::read(dy), sum_dy.data(),
                                           sum_dy_xhat.data());
        for (std::int64_t lane = 0; lane < mine; ++lane) {
          local.insert(local.end(), sum_dy.begin() + lane * c, sum_dy.begin() + (lane + 1) * c);
          local.insert(local.end(), sum_dy_xhat.begin() + lane * c,
                       sum_dy_xhat.begin() + (lane + 1) * c);
        }
        // dbeta and dgamma as partials of this rank's subtrees, from single lanes.
        Tensor dbeta = ops::empty({lanes.partials(), c}),
               dgamma = ops::empty({lanes.partials(), c});
        std::int64_t lane = 0;
        for (std::int64_t p = 0; p < lanes.partials(); ++p) {
          const std::int64_t in_subtree = lanes.lanes[static_cast<std::size_t>(p)];
          std::vector<const float*> beta_rows, gamma_rows;
          for (std::int64_t i = 0; i < in_subtree; ++i, ++lane) {
            beta_rows.push_back(sum_dy.data() + lane * c);
            gamma_rows.push_back(sum_dy_xhat.data() + lane * c);
          }
          numerics::tree_sum(beta_rows.data(), in_subtree, c, ops::write(dbeta) + p * c);
          numerics::tree_sum(gamma_rows.data(), in_subtree, c, ops::write(dgamma) + p * c);
        }
        const std::vector<float> all = (*gather)(local, 2 * c);
        std::vector<const float*> lane_rows;
        for (std::int64_t l = 0; l < all_lanes; ++l) lane_rows.push_back(all.data() + 2 * l * c);
        std::vector<float> sums(static_cast<std::size_t>(2 * c));
        numerics::tree_sum(lane_rows.data(), all_lanes, 2 * c, sums.data());
        Tensor dx = ops::empty(x.sizes());
        numerics::batch_norm_backward_apply(total, c, count, ops::read(x), ops::read(mean),
                                            ops::read(rstd), ops::read(gamma), ops::read(dy),
                                            sums.data(), sums.data() + c, ops::write(dx));
        return {dx, dgamma, dbeta};
      });
}

}  // namespace lockstep::lane
