// Group and layer normalisation over the fused kernels.
#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "lockstep/ops/view.h"
#include "ops/partials.h"
#include "ops/sides.h"

namespace lockstep::ops {
namespace {

// The one tensor behind a parameter that entered with a view of stride 0: these ops are
// differentiable once, so slices never differ.
Tensor whole(const Tensor& parameter) {
  LOCKSTEP_ASSERT(parameter.size(0) == 1 || parameter.stride(0) == 0);
  return first_part(parameter).contiguous();
}

struct Normalised {
  Tensor y, mean, rstd;
};

Normalised group_values(const numerics::GroupNormShape& s, const SideBySide& x, const Tensor& gamma,
                        const Tensor& beta) {
  std::vector<std::int64_t> sizes = x.left.sizes().vec();
  sizes.back() = s.c;
  Normalised all{ops::empty(sizes), empty({s.n, s.groups}), empty({s.n, s.groups})};
  device().group_norm(s, sides(x), read(gamma), read(beta), write(all.y), write(all.mean),
                      write(all.rstd));
  return all;
}

Normalised layer_values(const Tensor& x, const Tensor& gamma, const Tensor& beta, float eps) {
  const std::int64_t c = x.size(-1), rows = x.numel() / c;
  Normalised all{empty(x.sizes()), empty({rows}), empty({rows})};
  device().layer_norm(rows, c, eps, read(x), {read(gamma), read(beta)}, write(all.y),
                      write(all.mean), write(all.rstd));
  return all;
}

struct AffineGradients {
  Tensor dgamma, dbeta;
};

// Room for them, if they are needed.
AffineGradients room(const LaneBlocks& lanes, std::int64_t c, bool needed) {
  if (!needed) return {};
  return {empty({lanes.partials(), c}), empty({lanes.partials(), c})};
}

float* write_if_any(Tensor& x) {
  return x.defined() ? write(x) : nullptr;
}

}  // namespace

Tensor group_norm(const LaneBlocks& lanes, const SideBySide& x_in, const Tensor& gamma_in,
                  const Tensor& beta_in, std::int64_t groups, float eps, Activation activation) {
  const SideBySide x = contiguous(x_in);
  const Tensor gamma = whole(gamma_in), beta = whole(beta_in);
  const std::int64_t n = x.left.size(0), c = x.channels();
  LOCKSTEP_ASSERT(n == lanes.samples() && c % groups == 0 && gamma.numel() == c);
  const numerics::GroupNormShape s{.n = n,
                                   .spatial = x.left.numel() / n / x.left.size(-1),
                                   .c = c,
                                   .groups = groups,
                                   .eps = eps,
                                   .activation = activation};
  const auto [y, mean, rstd] = group_values(s, x, gamma, beta);
  return record_with_parameters(
      "group_norm", {x_in.left, x_in.right, gamma_in, beta_in}, y, Differentiable::kOnce,
      [=, mean = mean, rstd = rstd](const Tensor& dy, const std::vector<bool>& needed) -> Tensors {
        const bool any = needed[0] || needed[1];
        Tensor left = any ? empty(x.left.sizes()) : Tensor();
        Tensor right = any && x.right.defined() ? empty(x.right.sizes()) : Tensor();
        auto [dgamma, dbeta] = room(lanes, s.c, needed[2] || needed[3]);
        device().group_norm_backward(s, lanes, sides(x), read(gamma), read(beta), read(mean),
                                     read(rstd), read(dy),
                                     {write_if_any(left), x.left.size(-1), write_if_any(right)},
                                     write_if_any(dgamma), write_if_any(dbeta));
        return {left, right, dgamma, dbeta};
      });
}

Tensor layer_norm(const LaneBlocks& lanes, const Tensor& x_in, const Tensor& gamma_in,
                  const Tensor& beta_in, float eps) {
  const Tensor x = bare(x_in).contiguous(), gamma = whole(gamma_in), beta = whole(beta_in);
  const std::int64_t c = x.size(-1), rows = x.numel() / c;
  const auto [y, mean, rstd] = layer_values(x, gamma, beta, eps);
  return record_with_parameters(
      "layer_norm", {x_in, gamma_in, beta_in}, y, Differentiable::kOnce,
      [=, mean = mean, rstd = rstd](const Tensor& dy, const std::vector<bool>& needed) -> Tensors {
        Tensor dx = needed[0] ? empty(x.sizes()) : Tensor();
        auto [dgamma, dbeta] = room(lanes, c, needed[1] || needed[2]);
        device().layer_norm_backward(rows, c, lanes, rows / lanes.samples(), read(x), {read(gamma)},
                                     read(mean), read(rstd), read(dy), write_if_any(dx),
                                     write_if_any(dgamma), write_if_any(dbeta));
        return {dx, dgamma, dbeta};
      });
}

}  // namespace lockstep::ops
