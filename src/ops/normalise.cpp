// Group and layer normalisation over the fused kernels.
#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "lockstep/ops/view.h"
#include "ops/native.h"
#include "ops/partials.h"

namespace lockstep::ops {
namespace {

// The one tensor behind a parameter that entered with a view of stride 0: these ops are
// differentiable once, so slices never differ.
Tensor whole(const Tensor& parameter) {
  LOCKSTEP_ASSERT(parameter.size(0) == 1 || parameter.stride(0) == 0);
  return first_part(parameter).contiguous();
}

using native::Normalised;
using native::NormGradients;

// What the kernels compute, portable.
Normalised group_values(const numerics::GroupNormShape& s, const Tensor& x, const Tensor& gamma,
                        const Tensor& beta) {
  Normalised all{empty(x.sizes()), empty({s.n, s.groups}), empty({s.n, s.groups})};
  device().group_norm(s, read(x), read(gamma), read(beta), write(all.y), write(all.mean),
                      write(all.rstd));
  return all;
}

Normalised layer_values(const Tensor& x, const Tensor& gamma, const Tensor& beta, float eps) {
  const std::int64_t c = x.size(-1), rows = x.numel() / c;
  Normalised all{empty(x.sizes()), empty({rows}), empty({rows})};
  device().layer_norm(rows, c, eps, read(x), read(gamma), read(beta), write(all.y), write(all.mean),
                      write(all.rstd));
  return all;
}

// Room for the gradients that are needed.
NormGradients room(const LaneBlocks& lanes, const Tensor& x, const std::vector<bool>& needed) {
  const bool affine = needed[1] || needed[2];
  const auto partials = [&] { return empty({lanes.partials(), x.size(-1)}); };
  return {needed[0] ? empty(x.sizes()) : Tensor(), affine ? partials() : Tensor(),
          affine ? partials() : Tensor()};
}

float* write_if_any(Tensor& x) {
  return x.defined() ? write(x) : nullptr;
}

}  // namespace

Tensor group_norm(const LaneBlocks& lanes, const Tensor& x_in, const Tensor& gamma_in,
                  const Tensor& beta_in, std::int64_t groups, float eps, Activation activation) {
  const Tensor x = bare(x_in).contiguous(), gamma = whole(gamma_in), beta = whole(beta_in);
  const std::int64_t n = x.size(0), c = x.size(-1);
  LOCKSTEP_ASSERT(n == lanes.samples() && c % groups == 0 && gamma.numel() == c);
  const numerics::GroupNormShape s{.n = n,
                                   .spatial = x.numel() / n / c,
                                   .c = c,
                                   .groups = groups,
                                   .eps = eps,
                                   .activation = activation};
  const auto [y, mean, rstd] = native::on()
                                   ? native::group_norm(x, gamma, beta, groups, eps, activation)
                                   : group_values(s, x, gamma, beta);
  return record_with_parameters(
      "group_norm", {x_in, gamma_in, beta_in}, y, Differentiable::kOnce,
      [=, mean = mean, rstd = rstd](const Tensor& dy, const std::vector<bool>& needed) -> Tensors {
        if (native::on()) {
          const NormGradients g =
              native::group_norm_backward(lanes, x, gamma, beta, mean, rstd, activation, dy);
          return {g.dx, g.dgamma, g.dbeta};
        }
        NormGradients g = room(lanes, x, needed);
        device().group_norm_backward(s, lanes, read(x), read(gamma), read(beta), read(mean),
                                     read(rstd), read(dy), write_if_any(g.dx),
                                     write_if_any(g.dgamma), write_if_any(g.dbeta));
        return {g.dx, g.dgamma, g.dbeta};
      });
}

Tensor layer_norm(const LaneBlocks& lanes, const Tensor& x_in, const Tensor& gamma_in,
                  const Tensor& beta_in, float eps) {
  const Tensor x = bare(x_in).contiguous(), gamma = whole(gamma_in), beta = whole(beta_in);
  const std::int64_t c = x.size(-1), rows = x.numel() / c;
  const auto [y, mean, rstd] =
      native::on() ? native::layer_norm(x, gamma, beta, eps) : layer_values(x, gamma, beta, eps);
  return record_with_parameters(
      "layer_norm", {x_in, gamma_in, beta_in}, y, Differentiable::kOnce,
      [=, mean = mean, rstd = rstd](const Tensor& dy, const std::vector<bool>& needed) -> Tensors {
        if (native::on()) {
          const NormGradients g =
              native::layer_norm_backward(lanes, x, gamma, beta, mean, rstd, dy);
          return {g.dx, g.dgamma, g.dbeta};
        }
        NormGradients g = room(lanes, x, needed);
        device().layer_norm_backward(rows, c, lanes, rows / lanes.samples(), read(x), read(gamma),
                                     read(mean), read(rstd), read(dy), write_if_any(g.dx),
                                     write_if_any(g.dgamma), write_if_any(g.dbeta));
        return {g.dx, g.dgamma, g.dbeta};
      });
}

}  // namespace lockstep::ops
