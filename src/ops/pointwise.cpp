// Element-wise ops and pure data movement.
#include <ATen/ops/cat.h>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"

namespace lockstep::ops {
namespace {

Tensor apply(numerics::Binary op, const Tensor& a_in, const Tensor& b_in) {
  const Tensor a = a_in.contiguous(), b = b_in.contiguous();
  LOCKSTEP_ASSERT(a.sizes() == b.sizes(), "element-wise ops do not broadcast");
  Tensor out = empty(a.sizes());
  device().binary(op, out.numel(), read(a), read(b), write(out));
  return out;
}

// g where x > 0, slope*g elsewhere. Linear in g; nothing flows to x.
Tensor leaky_mask(const Tensor& g_in, const Tensor& x, float slope) {
  const Tensor g = g_in.contiguous();
  Tensor out = empty(g.sizes());
  device().leaky_relu_backward(g.numel(), slope, read(x), read(g), write(out));
  return record("leaky_mask", {g_in}, out, Differentiable::kTwice,
                [x, slope](const Tensor& gg, const std::vector<bool>&) -> Tensors {
                  return {leaky_mask(gg, x, slope)};
                });
}

Tensor narrow_channels(const Tensor& x_in, std::int64_t first, std::int64_t count);

// x placed at channel `first` of zeros with `total` channels: the transpose of narrow_channels.
Tensor widen_channels(const Tensor& x_in, std::int64_t first, std::int64_t total) {
  const std::int64_t count = x_in.size(-1);
  std::vector<std::int64_t> sizes = x_in.sizes().vec();
  sizes.back() = total;
  Tensor out = filled(sizes, 0.0F);
  out.narrow(-1, first, count).copy_(bare(x_in));
  return record("widen_channels", {x_in}, out, Differentiable::kTwice,
                [first, count](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  return {narrow_channels(g, first, count)};
                });
}

Tensor narrow_channels(const Tensor& x_in, std::int64_t first, std::int64_t count) {
  Tensor out = bare(x_in).narrow(-1, first, count).contiguous();
  return record(
      "narrow_channels", {x_in}, out, Differentiable::kTwice,
      [first, total = x_in.size(-1)](const Tensor& g, const std::vector<bool>&) -> Tensors {
        return {widen_channels(g, first, total)};
      });
}

}  // namespace

std::vector<SideBySide> fork(const SideBySide& x, int uses) {
  const Tensors left = fork(x.left, uses);
  const Tensors right = x.right.defined() ? fork(x.right, uses) : Tensors(left.size());
  std::vector<SideBySide> result;
  for (std::size_t i = 0; i < left.size(); ++i) result.emplace_back(left[i], right[i]);
  return result;
}

Tensor leaky_relu(const Tensor& x_in, float slope) {
  const Tensor x = bare(x_in).contiguous();
  Tensor out = empty(x.sizes());
  device().leaky_relu(x.numel(), slope, read(x), write(out));
  return record("leaky_relu", {x_in}, out, Differentiable::kTwice,
                [x, slope](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  return {leaky_mask(g, x, slope)};
                });
}

Tensor add(const Tensor& a, const Tensor& b) {
  return record("add", {a, b}, apply(numerics::Binary::kAdd, a, b), Differentiable::kTwice,
                [](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  const Tensors gs = fork(g, 2);
                  return {gs[0], gs[1]};
                });
}

Tensor subtract(const Tensor& a, const Tensor& b) {
  return record("subtract", {a, b}, apply(numerics::Binary::kSubtract, a, b),
                Differentiable::kTwice,
                [](const Tensor& g, const std::vector<bool>& needed) -> Tensors {
                  const Tensors gs = fork(g, 2);
                  return {gs[0], needed[1] ? scale(gs[1], -1.0F) : Tensor()};
                });
}

Tensor multiply(const Tensor& a, const Tensor& b) {
  const Tensors as = fork(a, 2), bs = fork(b, 2);
  return record("multiply", {as[0], bs[0]}, apply(numerics::Binary::kMultiply, bare(a), bare(b)),
                Differentiable::kTwice,
                [a_saved = as[1], b_saved = bs[1]](const Tensor& g,
                                                   const std::vector<bool>& needed) -> Tensors {
                  const Tensors gs = fork(g, 2);
                  return {needed[0] ? ops::multiply(gs[0], b_saved) : Tensor(),
                          needed[1] ? ops::multiply(gs[1], a_saved) : Tensor()};
                });
}

Tensor scale(const Tensor& x_in, float factor) {
  const Tensor x = x_in.contiguous();
  Tensor out = empty(x.sizes());
  device().scale(x.numel(), factor, read(x), write(out));
  return record("scale", {x_in}, out, Differentiable::kTwice,
                [factor](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  return {scale(g, factor)};
                });
}

Tensor reshape(const Tensor& x_in, at::IntArrayRef sizes) {
  Tensor out = bare(x_in).contiguous().view(sizes);
  return record("reshape", {x_in}, out, Differentiable::kTwice,
                [old = x_in.sizes().vec()](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  return {ops::reshape(g, old)};
                });
}

Tensor concat_channels(const Tensor& a, const Tensor& b) {
  Tensor out = at::cat({bare(a), bare(b)}, -1);
  const std::int64_t left = a.size(-1), right = b.size(-1);
  return record("concat_channels", {a, b}, out, Differentiable::kTwice,
                [left, right](const Tensor& g, const std::vector<bool>& needed) -> Tensors {
                  const Tensors gs = fork(g, 2);
                  return {needed[0] ? narrow_channels(gs[0], 0, left) : Tensor(),
                          needed[1] ? narrow_channels(gs[1], left, right) : Tensor()};
                });
}

namespace {

Tensor values_of(numerics::Unary op, const Tensor& x) {
  Tensor out = empty(x.sizes());
  device().unary(op, x.numel(), read(x), write(out));
  return out;
}

Tensor gradient_of(numerics::Unary op, const Tensor& x, const Tensor& g) {
  Tensor dx = empty(x.sizes());
  device().unary_backward(op, x.numel(), read(x), read(g), write(dx));
  return dx;
}

}  // namespace

Tensor unary(numerics::Unary op, const Tensor& x_in) {
  const Tensor x = bare(x_in).contiguous();
  return record(name(op), {x_in}, values_of(op, x), Differentiable::kOnce,
                [op, x](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  return {gradient_of(op, x, g)};
                });
}

}  // namespace lockstep::ops
