#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"

namespace lockstep::ops {
namespace {

constexpr float kLeastShare = 0x1p-126F;  // the smallest normal number

}  // namespace

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

Tensor cross_entropy(const Tensor& logits_in, const Tensor& condition_in) {
  const Tensor logits = bare(logits_in).contiguous(), condition = bare(condition_in).contiguous();
  LOCKSTEP_ASSERT(logits.dim() == 2 && logits.sizes() == condition.sizes());
  const std::int64_t rows = logits.size(0), cols = logits.size(1);
  Tensor shares = empty(logits.sizes()), out = empty({rows});
  device().softmax(rows, cols, 1.0F, read(logits), write(shares));
  device().row_dots(rows, cols, read(shares), read(condition), write(out));
  device().clamp(rows, kLeastShare, 1.0F, read(out), write(out));
  device().unary(numerics::Unary::kLog, rows, read(out), write(out));
  device().scale(rows, -1.0F, read(out), write(out));
  return record(
      "cross_entropy", {logits_in}, out, Differentiable::kOnce,
      [shares, condition, rows, cols](const Tensor& g, const std::vector<bool>&) -> Tensors {
        Tensor dx = empty(shares.sizes());
        device().binary(numerics::Binary::kSubtract, dx.numel(), read(shares), read(condition),
                        write(dx));
        device().scale_rows(rows, cols, read(dx), read(g), write(dx));
        return {dx};
      });
}

}  // namespace lockstep::ops
