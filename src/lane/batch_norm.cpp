#include "lockstep/lane/batch_norm.h"

#include <functional>
#include <memory>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/view.h"
#include "lockstep/ops/where.h"

namespace lockstep::lane {
namespace {

struct Statistics {
  Tensor mean, variance;  // [C], biased variance
  float count = 0;
};

// Two values of each lane and channel, [lanes][c] each, as [lanes][2][c] of all lanes.
Tensor gathered(const std::shared_ptr<LaneGather>& gather, const Tensor& a, const Tensor& b,
                std::int64_t lanes) {
  const std::int64_t width = 2 * a.size(1);
  const Tensor mine = ops::empty({a.size(0), 2, a.size(1)});
  mine.select(1, 0).copy_(a);
  mine.select(1, 1).copy_(b);
  if (gather->alone()) return mine.view({lanes, width});
  Tensor all = ops::empty({lanes, width});
  // By way of the host, again in every launch where this is captured.
  ops::device().outside_graph([=, module = ops::where().module]() mutable {
    const ops::HostView values(mine);
    ops::from_host((*gather)(module, values.floats(), width), all);
  });
  return all;
}

// Moments of every lane, merged over all lanes in the tree.
Statistics batch_statistics(Context& context, const Tensor& x, std::int64_t rows, std::int64_t c) {
  const std::int64_t mine = context.lanes().lane_count(), lanes = context.plan().lanes();
  Tensor mean = ops::empty({mine, c}), m2 = ops::empty({mine, c});
  ops::device().lane_moments(context.lanes(), rows, c, ops::read(x), ops::write(mean),
                             ops::write(m2));
  const Tensor all = gathered(context.lane_gather(), mean, m2, lanes);
  const auto count = static_cast<float>(context.lanes().samples_per_lane * rows);
  const float all_count = numerics::tree_fold(  // as merge() adds them
      std::int64_t{0}, lanes, [&](std::int64_t) { return count; }, std::plus<float>());
  Statistics result{ops::empty({c}), ops::empty({c}), all_count};
  ops::device().merge_moments(lanes, c, count, ops::read(all), ops::write(result.mean),
                              ops::write(result.variance));
  return result;
}

// r = fma(momentum, value - r, r)
void track_running(float momentum, const float* value, std::int64_t c, Tensor& running) {
  Tensor difference = ops::empty({c});
  ops::device().binary(numerics::Binary::kSubtract, c, value, ops::read(running),
                       ops::write(difference));
  ops::device().scale_add(c, momentum, ops::read(difference), ops::read(running),
                          ops::write(running));
}

Tensor rstd_of(const Tensor& variance, float eps) {
  Tensor rstd = ops::filled(variance.sizes(), eps);
  ops::device().binary(numerics::Binary::kAdd, rstd.numel(), ops::read(variance), ops::read(rstd),
                       ops::write(rstd));
  ops::device().unary(numerics::Unary::kRsqrt, rstd.numel(), ops::read(rstd), ops::write(rstd));
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
    ops::device().batch_norm_apply(total, c, ops::read(x), ops::read(state.running_mean),
                                   ops::read(rstd_of(state.running_var, state.eps)),
                                   ops::read(gamma), ops::read(beta), ops::write(y));
    return y;
  }
  const Statistics batch = batch_statistics(context, x, rows, c);
  const Tensor rstd = rstd_of(batch.variance, state.eps);
  ops::device().batch_norm_apply(total, c, ops::read(x), ops::read(batch.mean), ops::read(rstd),
                                 ops::read(gamma), ops::read(beta), ops::write(y));
  if (track && !context.is_shadow()) {
    if (batch.count <= 1 && !context.plan().is_part())
      throw Error(Code::kUsage,
                  "[batch]: batch norm of one value a channel: " + ops::where().module,
                  "more lanes or samples_per_lane, or a network without batch norm");
    Tensor unbiased = ops::empty({c});
    ops::device().scale(c, batch.count / (batch.count - 1), ops::read(batch.variance),
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
        Tensor sum_dy = ops::empty({mine, c}), sum_dy_xhat = ops::empty({mine, c});
        ops::device().batch_norm_backward_sums(lanes, rows, c, ops::read(x), ops::read(mean),
                                               ops::read(rstd), ops::read(dy), ops::write(sum_dy),
                                               ops::write(sum_dy_xhat));
        // dbeta and dgamma as partials of this rank's subtrees, from single lanes.
        Tensor dbeta = ops::empty({lanes.partials(), c}),
               dgamma = ops::empty({lanes.partials(), c});
        std::int64_t lane = 0;
        for (std::int64_t p = 0; p < lanes.partials(); ++p) {
          const std::int64_t in_subtree = lanes.lanes[static_cast<std::size_t>(p)];
          std::vector<const float*> beta_rows, gamma_rows;
          for (std::int64_t i = 0; i < in_subtree; ++i, ++lane) {
            beta_rows.push_back(ops::read(sum_dy) + lane * c);
            gamma_rows.push_back(ops::read(sum_dy_xhat) + lane * c);
          }
          ops::device().tree_sum(beta_rows.data(), in_subtree, c, ops::write(dbeta) + p * c);
          ops::device().tree_sum(gamma_rows.data(), in_subtree, c, ops::write(dgamma) + p * c);
        }
        const Tensor all = gathered(gather, sum_dy, sum_dy_xhat, all_lanes);
        std::vector<const float*> lane_rows;
        for (std::int64_t l = 0; l < all_lanes; ++l)
          lane_rows.push_back(ops::read(all) + 2 * l * c);
        Tensor sums = ops::empty({2, c});
        ops::device().tree_sum(lane_rows.data(), all_lanes, 2 * c, ops::write(sums));
        Tensor dx = ops::empty(x.sizes());
        ops::device().batch_norm_backward_apply(
            total, c, count, ops::read(x), ops::read(mean), ops::read(rstd), ops::read(gamma),
            ops::read(dy), ops::read(sums), ops::read(sums) + c, ops::write(dx));
        return {dx, dgamma, dbeta};
      });
}

}  // namespace lockstep::lane
