// Linear layers: three products that are each other's gradients, so all are twice differentiable.
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "ops/native.h"
#include "ops/partials.h"

namespace lockstep::ops {
namespace {

struct Rows {
  std::int64_t samples, per_sample, in;
  std::int64_t total() const { return samples * per_sample; }
};

Rows rows_of(const LaneBlocks& lanes, const Tensor& x) {
  const std::int64_t in = x.size(-1);
  LOCKSTEP_ASSERT(x.size(0) == lanes.samples(), "samples do not fit the lanes");
  return {x.size(0), x.numel() / in / x.size(0), in};
}

std::vector<std::int64_t> with_last(const Tensor& x, std::int64_t last) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = last;
  return sizes;
}

// The three products, portable.
Tensor product(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b) {
  const Rows rows = rows_of(lanes, x);
  const std::int64_t out = w.size(2);
  Tensor y = ops::empty(with_last(x, out));
  for_each_partial(lanes, {w, b}, [&](const Slice& slice) {
    const std::int64_t first = slice.first_sample * rows.per_sample,
                       count = slice.samples * rows.per_sample;
    device().gemm(1, count, out, rows.in, {read(x) + first * rows.in, rows.in, 1, 0},
                  {slice.data(w), out, 1, 0}, b.defined() ? slice.data(b) : nullptr,
                  {write(y) + first * out, out, 0});
  });
  return y;
}

Tensor product_with_transpose(const LaneBlocks& lanes, const Tensor& dy, const Tensor& w) {
  const Rows rows = rows_of(lanes, dy);
  const std::int64_t in = w.size(1), out = w.size(2);
  Tensor dx = ops::empty(with_last(dy, in));
  for_each_partial(lanes, {w}, [&](const Slice& slice) {
    const std::int64_t first = slice.first_sample * rows.per_sample,
                       count = slice.samples * rows.per_sample;
    device().gemm(1, count, in, out, {read(dy) + first * out, out, 1, 0},
                  {slice.data(w), 1, out, 0}, nullptr, {write(dx) + first * in, in, 0});
  });
  return dx;
}

Tensor product_over_samples(const LaneBlocks& lanes, const Tensor& x, const Tensor& dy) {
  const Rows rows = rows_of(lanes, x);
  const std::int64_t out = dy.size(-1);
  Tensor dw = empty({lanes.partials(), rows.in, out});
  device().linear_weight_grad(lanes, rows.per_sample, rows.in, out, read(x), read(dy), write(dw));
  return dw;
}

Tensor input_grad(const LaneBlocks& lanes, const Tensor& dy, const Tensor& w);
Tensor weight_grad(const LaneBlocks& lanes, const Tensor& x, const Tensor& dy);

// y = x w + b
Tensor forward(const LaneBlocks& lanes, const Tensor& x_in, const Tensor& w, const Tensor& b) {
  const Tensors xs = fork(x_in, 2), ws = fork(w, 2);
  const Tensor x = xs[0].contiguous();
  const Tensor y = native::on() ? native::linear(lanes, x, w, b) : product(lanes, x, w, b);
  return record_with_parameters("linear", {xs[0], ws[0], b}, y, Differentiable::kTwice,
                                [lanes, x_saved = xs[1], w_saved = ws[1]](
                                    const Tensor& dy, const std::vector<bool>& needed) -> Tensors {
                                  const Tensors dys = fork(dy, 3);
                                  return {
                                      needed[0] ? input_grad(lanes, dys[0], w_saved) : Tensor(),
                                      needed[1] ? weight_grad(lanes, x_saved, dys[1]) : Tensor(),
                                      needed[2] ? lane_column_sums(lanes, dys[2]) : Tensor()};
                                });
}

// dx = dy w^T
Tensor input_grad(const LaneBlocks& lanes, const Tensor& dy_in, const Tensor& w) {
  const Tensors dys = fork(dy_in, 2), ws = fork(w, 2);
  const Tensor dy = dys[0].contiguous();
  const Tensor dx =
      native::on() ? native::linear_input_grad(lanes, dy, w) : product_with_transpose(lanes, dy, w);
  return record_with_parameters(
      "linear_input_grad", {dys[0], ws[0]}, dx, Differentiable::kTwice,
      [lanes, dy_saved = dys[1], w_saved = ws[1]](const Tensor& g,
                                                  const std::vector<bool>& needed) -> Tensors {
        const Tensors gs = fork(g, 2);
        return {needed[0] ? forward(lanes, gs[0], w_saved, Tensor()) : Tensor(),
                needed[1] ? weight_grad(lanes, gs[1], dy_saved) : Tensor()};
      });
}

// dw[p] = sum over the samples of partial p of x^T dy
Tensor weight_grad(const LaneBlocks& lanes, const Tensor& x_in, const Tensor& dy_in) {
  const Tensors xs = fork(x_in, 2), dys = fork(dy_in, 2);
  const Tensor x = xs[0].contiguous(), dy = dys[0].contiguous();
  const Tensor dw =
      native::on() ? native::linear_weight_grad(lanes, x, dy) : product_over_samples(lanes, x, dy);
  return record("linear_weight_grad", {xs[0], dys[0]}, dw, Differentiable::kTwice,
                [lanes, x_saved = xs[1], dy_saved = dys[1]](
                    const Tensor& g, const std::vector<bool>& needed) -> Tensors {
                  const Tensors gs = fork(g, 2);
                  return {needed[0] ? input_grad(lanes, dy_saved, gs[0]) : Tensor(),
                          needed[1] ? forward(lanes, x_saved, gs[1], Tensor()) : Tensor()};
                });
}

}  // namespace

Tensor linear(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b) {
  return forward(lanes, x, w, b);
}

}  // namespace lockstep::ops
