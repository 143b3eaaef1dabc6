// Group and layer normalisation over the fused kernels.
#include "lockstep/core/error.h"
#include "lockstep/ops/ops.h"
#include "lockstep/ops/view.h"
#include "ops/partials.h"

namespace lockstep::ops {
namespace {

// The one tensor behind a parameter that entered with a view of stride 0: these ops are
// differentiable once, so slices never differ.
Tensor whole(const Tensor& parameter) {
  LOCKSTEP_ASSERT(parameter.size(0) == 1 || parameter.stride(0) == 0);
  return first_part(parameter).contiguous();
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
  Tensor y = empty(x.sizes()), mean = empty({n, groups}), rstd = empty({n, groups});
  numerics::group_norm(s, read(x), read(gamma), read(beta), write(y), write(mean), write(rstd));
  return record_with_parameters("group_norm", {x_in, gamma_in, beta_in}, y, Differentiable::kOnce,
                                [=](const Tensor& dy, const std::vector<bool>& needed) -> Tensors {
                                  const bool affine = needed[1] || needed[2];
                                  Tensor dx = needed[0] ? empty(x.sizes()) : Tensor();
                                  Tensor dgamma = affine ? empty({lanes.partials(), c}) : Tensor(),
                                         dbeta = affine ? empty({lanes.partials(), c}) : Tensor();
                                  numerics::group_norm_backward(
                                      s, lanes, read(x), read(gamma), read(beta), read(mean),
                                      read(rstd), read(dy), needed[0] ? write(dx) : nullptr,
                                      affine ? write(dgamma) : nullptr,
                                      affine ? write(dbeta) : nullptr);
                                  return {dx, dgamma, dbeta};
                                });
}

Tensor layer_norm(const LaneBlocks& lanes, const Tensor& x_in, const Tensor& gamma_in,
                  const Tensor& beta_in, float eps) {
  const Tensor x = bare(x_in).contiguous(), gamma = whole(gamma_in), beta = whole(beta_in);
  const std::int64_t c = x.size(-1), rows = x.numel() / c;
  Tensor y = empty(x.sizes()), mean = empty({rows}), rstd = empty({rows});
  numerics::layer_norm(rows, c, eps, read(x), read(gamma), read(beta), write(y), write(mean),
                       write(rstd));
  return record_with_parameters(
      "layer_norm", {x_in, gamma_in, beta_in}, y, Differentiable::kOnce,
      [=](const Tensor& dy, const std::vector<bool>& needed) -> Tensors {
        const bool affine = needed[1] || needed[2];
        Tensor dx = needed[0] ? empty(x.sizes()) : Tensor();
        Tensor dgamma = affine ? empty({lanes.partials(), c}) : Tensor(),
               dbeta = affine ? empty({lanes.partials(), c}) : Tensor();
        numerics::layer_norm_backward(
            rows, c, lanes, rows / lanes.samples(), read(x), read(gamma), read(mean), read(rstd),
            read(dy), needed[0] ? write(dx) : nullptr, affine ? write(dgamma) : nullptr,
            affine ? write(dbeta) : nullptr);
        return {dx, dgamma, dbeta};
      });
}

}  // namespace lockstep::ops
