// Linear layers: three products that are each other's gradients, so all are twice differentiable.

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "lockstep/ops/trace.h"
#include "lockstep/ops/view.h"
#include "ops/factor.h"
#include "ops/native.h"
#include "ops/partials.h"
#include "ops/sides.h"

namespace lockstep::ops {
namespace {

struct Rows {
  std::int64_t samples, per_sample, in;
  std::int64_t total() const { return samples * per_sample; }
};

Rows rows_of(const LaneBlocks& lanes, const Factor& x) {
  const at::IntArrayRef sizes = x.sizes();
  LOCKSTEP_ASSERT(sizes[0] == lanes.samples(), "samples do not fit the lanes");
  return {sizes[0], c10::multiply_integers(sizes.slice(1, sizes.size() - 2)), sizes.back()};
}

std::vector<std::int64_t> with_last(const Factor& x, std::int64_t last) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = last;
  return sizes;
}

// The layer as a convolution of 1x1 taps over images of one column.
numerics::ConvShape shape_of(const Rows& rows, std::int64_t in, std::int64_t out) {
  return {.n = rows.samples, .h = rows.per_sample, .w = 1, .in = in, .out = out};
}

// Which arithmetic a layer has.
bool integer(const Rows& rows, std::int64_t in, std::int64_t out) {
  return integer_products_in_use(shape_of(rows, in, out));
}

// The three products, portable.
Tensor product(const LaneBlocks& lanes, const Factor& x, const Factor& w, const Tensor& b) {
  const Rows rows = rows_of(lanes, x);
  const std::int64_t out = w.size(2);
  const Tensor values = x.integers ? Tensor() : x.value.contiguous();
  Tensor y = ops::empty(with_last(x, out));
  for_each_partial(lanes, {w.value, b}, [&](const Slice& slice) {
    const std::int64_t first = slice.first_sample * rows.per_sample,
                       count = slice.samples * rows.per_sample;
    const float* const bias = b.defined() ? slice.data(b) : nullptr;
    float* const to = write(y) + first * out;
    if (x.integers) {
      device().integer_conv2d(shape_of({slice.samples, rows.per_sample, rows.in}, rows.in, out),
                              x.integers->from(slice.first_sample), slice_of(w, slice.index), bias,
                              to);
    } else {
      device().linear(count, rows.in, out, read(values) + first * rows.in, slice.data(w.value),
                      bias, to);
    }
  });
  return y;
}

Tensor product_with_transpose(const LaneBlocks& lanes, const Factor& dy, const Factor& w) {
  const Rows rows = rows_of(lanes, dy);
  const std::int64_t in = w.size(1), out = w.size(2);
  const Tensor values = dy.integers ? Tensor() : dy.value.contiguous();
  Tensor dx = ops::empty(with_last(dy, in));
  for_each_partial(lanes, {w.value}, [&](const Slice& slice) {
    const std::int64_t first = slice.first_sample * rows.per_sample,
                       count = slice.samples * rows.per_sample;
    float* const to = write(dx) + first * in;
    if (dy.integers) {
      device().integer_conv2d_input_grad(shape_of({slice.samples, rows.per_sample, in}, in, out),
                                         dy.integers->from(slice.first_sample),
                                         slice_of(w, slice.index), nullptr, to);
    } else {
      device().gemm(1, count, in, out, {read(values) + first * out, out, 1, 0},
                    {slice.data(w.value), 1, out, 0}, nullptr, {to, in, 0});
    }
  });
  return dx;
}

Tensor product_over_samples(const LaneBlocks& lanes, const Factor& x, const Factor& dy) {
  const Rows rows = rows_of(lanes, x);
  const std::int64_t out = dy.sizes().back();
  Tensor dw = empty({lanes.partials(), rows.in, out});
  if (x.integers) {
    device().integer_conv2d_weight_grad(shape_of(rows, rows.in, out), lanes, x.integers->from(0),
                                        dy.integers->from(0), write(dw));
  } else {
    const Tensor xs = x.value.contiguous(), dys = dy.value.contiguous();
    device().linear_weight_grad(lanes, rows.per_sample, rows.in, out, read(xs), read(dys),
                                write(dw));
  }
  return dw;
}

Tensor input_grad(const LaneBlocks& lanes, const Factor& dy, const Factor& w);
Tensor weight_grad(const LaneBlocks& lanes, const Factor& x, const Factor& dy);

// y = x w + b
Tensor forward(const LaneBlocks& lanes, const Factor& x_in, const Factor& w_in, const Tensor& b) {
  const bool whole = integer(rows_of(lanes, x_in), w_in.size(1), w_in.size(2));
  const auto xs = fork(activation(x_in, whole), 2), ws = fork(parameter(w_in, whole), 2);
  const Tensor y = native::on() ? native::linear(lanes, xs[0].floats(), ws[0].value, b)
                                : product(lanes, xs[0], ws[0], b);
  return record_with_parameters("linear", {xs[0].value, ws[0].value, b}, y, Differentiable::kTwice,
                                [lanes, whole, x = kept(xs[1]), w = ws[1]](
                                    const Tensor& dy, const std::vector<bool>& needed) -> Tensors {
                                  require_values(x);
                                  const auto dys = fork(activation({dy}, whole), 3);
                                  return {
                                      needed[0] ? input_grad(lanes, dys[0], w) : Tensor(),
                                      needed[1] ? weight_grad(lanes, x, dys[1]) : Tensor(),
                                      needed[2] ? lane_column_sums(lanes, dys[2].value) : Tensor()};
                                });
}

// dx = dy w^T
Tensor input_grad(const LaneBlocks& lanes, const Factor& dy_in, const Factor& w_in) {
  const bool whole = integer(rows_of(lanes, dy_in), w_in.size(1), w_in.size(2));
  const auto dys = fork(activation(dy_in, whole), 2), ws = fork(parameter(w_in, whole), 2);
  const Tensor dx = native::on() ? native::linear_input_grad(lanes, dys[0].floats(), ws[0].value)
                                 : product_with_transpose(lanes, dys[0], ws[0]);
  return record_with_parameters("linear_input_grad", {dys[0].value, ws[0].value}, dx,
                                Differentiable::kTwice,
                                [lanes, whole, dy = kept(dys[1]), w = ws[1]](
                                    const Tensor& g, const std::vector<bool>& needed) -> Tensors {
                                  require_values(dy);
                                  const auto gs = fork(activation({g}, whole), 2);
                                  return {needed[0] ? forward(lanes, gs[0], w, Tensor()) : Tensor(),
                                          needed[1] ? weight_grad(lanes, gs[1], dy) : Tensor()};
                                });
}

// dw[p] = sum over the samples of partial p of x^T dy
Tensor weight_grad(const LaneBlocks& lanes, const Factor& x_in, const Factor& dy_in) {
  const bool whole = integer(rows_of(lanes, x_in), x_in.sizes().back(), dy_in.sizes().back());
  const auto xs = fork(activation(x_in, whole), 2), dys = fork(activation(dy_in, whole), 2);
  const Tensor dw = native::on()
                        ? native::linear_weight_grad(lanes, xs[0].floats(), dys[0].floats())
                        : product_over_samples(lanes, xs[0], dys[0]);
  return record("linear_weight_grad", {xs[0].value, dys[0].value}, dw, Differentiable::kTwice,
                [lanes, whole, x = kept(xs[1]), dy = kept(dys[1])](
                    const Tensor& g, const std::vector<bool>& needed) -> Tensors {
                  require_values(x);
                  require_values(dy);
                  const auto gs = fork(parameter({g}, whole), 2);
                  return {needed[0] ? input_grad(lanes, dy, gs[0]) : Tensor(),
                          needed[1] ? forward(lanes, x, gs[1], Tensor()) : Tensor()};
                });
}

// Two tensors side by side
// ------------------------

// By LibTorch, for which they are joined once, rounded as the product takes them.
Tensor native_forward_of_sides(const LaneBlocks& lanes, const SideBySide& x, const Tensor& w_in,
                               const Tensor& b) {
  const Tensor w = bare(w_in), joined = native::joined(x);
  const std::int64_t cut = x.left.size(-1);
  return record_with_parameters(
      "linear", {x.left, w_in, b, x.right}, native::linear(lanes, joined, w, b),
      Differentiable::kOnce, [=](const Tensor& dy, const std::vector<bool>& needed) -> Tensors {
        const Tensor dys = activation({dy}, false).floats();
        SideBySide dx{Tensor()};
        if (needed[0] || needed[3]) dx = native::linear_input_grad(lanes, dys, w, cut);
        show("linear_input_grad", {dy, w}, {dx.left, dx.right});
        return {dx.left, needed[1] ? native::linear_weight_grad(lanes, joined, dys) : Tensor(),
                needed[2] ? lane_column_sums(lanes, dy) : Tensor(), dx.right};
      });
}

// Rows [first, first + count) of a parameter that is one tensor: those of one side.
Factor rows_of_weight(const Factor& w, std::int64_t first, std::int64_t count) {
  Factor part{w.value.narrow(1, first, count)};
  if (w.integers) {
    part.integers = std::make_shared<Integers>(
        Integers{w.integers->q.narrow(-2, first, count), w.integers->exponents});
  }
  return part;
}

// One gemm a side and partial: a side's rows of dw.
Tensor product_over_samples(const LaneBlocks& lanes, const SideBySide& x, const Tensor& dy) {
  const Rows rows = rows_of(lanes, {dy});
  const std::int64_t in = x.channels(), out = dy.size(-1);
  Tensor dw = empty({lanes.partials(), in, out});
  std::int64_t row = 0;
  for (std::int64_t p = 0; p < lanes.partials(); ++p) {
    const LaneBlocks partial{lanes.samples_per_lane, {lanes.lanes[static_cast<std::size_t>(p)]}};
    sides(x).for_each(in, [&](const float* side, std::int64_t first, std::int64_t c) {
      device().linear_weight_grad(partial, rows.per_sample, c, out, side + row * c,
                                  read(dy) + row * out, write(dw) + (p * in + first) * out);
    });
    row += partial.samples() * rows.per_sample;
  }
  return dw;
}

Tensor forward_of_sides(const LaneBlocks& lanes, const SideBySide& x_in, const Tensor& w_in,
                        const Tensor& b) {
  const SideBySide x = contiguous(x_in);
  const std::int64_t cut = x.left.size(-1), in = x.channels(), out = w_in.size(2);
  LOCKSTEP_ASSERT(w_in.size(1) == in && (w_in.size(0) == 1 || w_in.stride(0) == 0));
  const Rows rows = rows_of(lanes, {x.left});
  const bool whole = integer(rows, in, out);
  const Factor w = parameter({bare(w_in)}, whole), q = whole ? activation(x) : Factor{};
  Tensor y;
  if (whole) {
    y = product(lanes, q, w, b);
  } else {
    y = ops::empty(with_last({x.left}, out));
    device().linear(rows.total(), in, out, sides(x), read(first_part(w.value)),
                    b.defined() ? read(first_part(b)) : nullptr, write(y));
  }
  const SideBySide kept = whole ? SideBySide(Tensor()) : x;
  return record_with_parameters(
      "linear", {x_in.left, w_in, b, x_in.right}, y, Differentiable::kOnce,
      [=](const Tensor& dy, const std::vector<bool>& needed) -> Tensors {
        const Factor dys = activation({dy}, whole);
        const auto side = [&](std::int64_t first, std::int64_t count) {
          return product_with_transpose(lanes, dys, rows_of_weight(w, first, count));
        };
        const auto dw = [&] {
          return whole ? product_over_samples(lanes, q, dys)
                       : product_over_samples(lanes, kept, dy);
        };
        const Tensor left = needed[0] ? side(0, cut) : Tensor();
        const Tensor right = needed[3] ? side(cut, in - cut) : Tensor();
        show("linear_input_grad", {dy, w.value}, {left, right});
        return {left, needed[1] ? dw() : Tensor(),
                needed[2] ? lane_column_sums(lanes, dy) : Tensor(), right};
      });
}

}  // namespace

Tensor linear(const LaneBlocks& lanes, const SideBySide& x, const Tensor& w, const Tensor& b) {
  if (!x.right.defined()) return forward(lanes, Factor{x.left}, {w}, b);
  if (native::on()) return native_forward_of_sides(lanes, x, w, b);
  return forward_of_sides(lanes, x, w, b);
}

}  // namespace lockstep::ops
