#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"

namespace lockstep::ops {

Tensor mean_squared_error(const Tensor& a_in, const Tensor& target_in) {
  const Tensor a = bare(a_in).contiguous(), target = bare(target_in).contiguous();
  LOCKSTEP_ASSERT(a.sizes() == target.sizes());
  const std::int64_t rows = a.size(0), cols = a.numel() / rows;
  const float inverse = 1.0F / static_cast<float>(cols);
  Tensor out = empty({rows});
  device().row_squared_distances(rows, cols, read(a), read(target), write(out));
  device().scale(rows, inverse, read(out), write(out));
  return record(
      "mean_squared_error", {a_in}, out, Differentiable::kOnce,
      [a, target, rows, cols, inverse](const Tensor& g, const std::vector<bool>&) -> Tensors {
        Tensor factor = empty({rows}), da = empty(a.sizes());
        device().scale(rows, 2.0F * inverse, read(g), write(factor));
        device().binary(numerics::Binary::kSubtract, da.numel(), read(a), read(target), write(da));
        device().scale_rows(rows, cols, read(da), read(factor), write(da));
        return {da};
      });
}

}  // namespace lockstep::ops
