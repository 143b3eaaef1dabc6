// Convolution, its input gradient (transposed convolution) and its weight gradient: each is the
// others' derivative, so all are twice differentiable.

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "ops/factor.h"
#include "ops/native.h"
#include "ops/partials.h"

namespace lockstep::ops {
namespace {

// `image` [N, H, W, in] is the big side, weights are [P, kh, kw, in, out].
numerics::ConvShape shape_of(std::int64_t n, std::int64_t h, std::int64_t w, const Factor& weight,
                             Conv conv) {
  return {.n = n,
          .h = h,
          .w = w,
          .in = weight.size(3),
          .out = weight.size(4),
          .kh = weight.size(1),
          .kw = weight.size(2),
          .stride = conv.stride,
          .pad = conv.pad};
}

struct Kernel {
  std::int64_t h, w;
};

// The three kernels, portable.
Tensor convolved(const LaneBlocks& lanes, numerics::ConvShape s, const Factor& x, const Factor& w,
                 const Tensor& b, const Epilogue& epilogue) {
  const std::int64_t x_size = s.h * s.w * s.in, y_size = s.out_h() * s.out_w() * s.out;
  const Tensor values = x.integers ? Tensor() : x.value.contiguous();
  Tensor y = empty({s.n, s.out_h(), s.out_w(), s.out});
  const Tensor rows = epilogue.rows.defined() ? bare(epilogue.rows).contiguous() : Tensor();
  const Tensor more = epilogue.values.defined() ? bare(epilogue.values).contiguous() : Tensor();
  for_each_partial(lanes, {w.value, b}, [&](const Slice& slice) {
    s.n = slice.samples;
    const std::int64_t first = slice.first_sample;
    const numerics::Added added(b.defined() ? slice.data(b) : nullptr,
                                rows.defined() ? read(rows) + first * s.out : nullptr,
                                more.defined() ? read(more) + first * y_size : nullptr);
    float* const to = write(y) + first * y_size;
    if (x.integers) {
      device().integer_conv2d(s, x.integers->from(first), slice_of(w, slice.index), added, to);
    } else {
      device().conv2d(s, read(values) + first * x_size, slice.data(w.value), added, to);
    }
  });
  return y;
}

Tensor convolved_back(const LaneBlocks& lanes, numerics::ConvShape s, const Factor& dy,
                      const Factor& w, const Tensor& b) {
  const std::int64_t x_size = s.h * s.w * s.in, y_size = s.out_h() * s.out_w() * s.out;
  const Tensor values = dy.integers ? Tensor() : dy.value.contiguous();
  Tensor dx = empty({s.n, s.h, s.w, s.in});
  for_each_partial(lanes, {w.value, b}, [&](const Slice& slice) {
    s.n = slice.samples;
    const float* const bias = b.defined() ? slice.data(b) : nullptr;
    float* const to = write(dx) + slice.first_sample * x_size;
    if (dy.integers) {
      device().integer_conv2d_input_grad(s, dy.integers->from(slice.first_sample),
                                         slice_of(w, slice.index), bias, to);
    } else {
      device().conv2d_input_grad(s, read(values) + slice.first_sample * y_size, slice.data(w.value),
                                 bias, to);
    }
  });
  return dx;
}

Tensor correlated(const LaneBlocks& lanes, const numerics::ConvShape& s, const Factor& x,
                  const Factor& dy) {
  Tensor dw = empty({lanes.partials(), s.kh, s.kw, s.in, s.out});
  if (x.integers) {
    device().integer_conv2d_weight_grad(s, lanes, x.integers->from(0), dy.integers->from(0),
                                        write(dw));
  } else {
    const Tensor xs = x.value.contiguous(), dys = dy.value.contiguous();
    device().conv2d_weight_grad(s, lanes, read(xs), read(dys), write(dw));
  }
  return dw;
}

Tensor weight_grad(const LaneBlocks& lanes, const Factor& x, const Factor& dy, Conv conv,
                   Kernel kernel);
Tensor input_grad(const LaneBlocks& lanes, const Factor& dy, const Factor& w, const Tensor& b,
                  Conv conv, std::int64_t height, std::int64_t width);

Kernel kernel_of(const Factor& w) {
  return {w.size(1), w.size(2)};
}

Tensor forward(const LaneBlocks& lanes, const Factor& x_in, const Factor& w_in, const Tensor& b,
               Conv conv, const Epilogue& epilogue = {}) {
  const numerics::ConvShape s = shape_of(x_in.size(0), x_in.size(1), x_in.size(2), w_in, conv);
  LOCKSTEP_ASSERT(s.n == lanes.samples() && x_in.size(3) == s.in);
  const auto xs = fork(activation(x_in, integer_products_in_use(s)), 2),
             ws = fork(parameter(w_in, integer_products_in_use(s)), 2);
  LOCKSTEP_ASSERT(!epilogue.rows.defined() || epilogue.rows.numel() == s.n * s.out);
  LOCKSTEP_ASSERT(!epilogue.values.defined() ||
                  epilogue.values.numel() == s.n * s.out_h() * s.out_w() * s.out);
  const Tensor y = native::on()
                       ? native::conv2d(lanes, xs[0].floats(), ws[0].value, b, conv, epilogue)
                       : convolved(lanes, s, xs[0], ws[0], b, epilogue);
  return record_with_parameters(
      "conv2d", {xs[0].value, ws[0].value, b, epilogue.rows, epilogue.values}, y,
      Differentiable::kTwice,
      [lanes, s, conv, x = kept(xs[1]), w = ws[1]](const Tensor& dy,
                                                   const std::vector<bool>& needed) -> Tensors {
        require_values(x);
        const auto dys = fork(activation({dy}, integer_products_in_use(s)), 5);
        return {needed[0] ? input_grad(lanes, dys[0], w, Tensor(), conv, s.h, s.w) : Tensor(),
                needed[1] ? weight_grad(lanes, x, dys[1], conv, kernel_of(w)) : Tensor(),
                needed[2] ? lane_column_sums(lanes, dys[2].value) : Tensor(),
                needed[3] ? spatial_sums(dys[3].value) : Tensor(),
                needed[4] ? dys[4].value : Tensor()};
      });
}

Tensor input_grad(const LaneBlocks& lanes, const Factor& dy_in, const Factor& w_in, const Tensor& b,
                  Conv conv, std::int64_t height, std::int64_t width) {
  const numerics::ConvShape s = shape_of(dy_in.size(0), height, width, w_in, conv);
  LOCKSTEP_ASSERT(s.n == lanes.samples() && dy_in.size(1) == s.out_h() &&
                      dy_in.size(2) == s.out_w() && dy_in.size(3) == s.out,
                  "transposed convolution: sizes do not fit");
  const auto dys = fork(activation(dy_in, integer_products_in_use(s)), 2),
             ws = fork(parameter(w_in, integer_products_in_use(s)), 2);
  const Tensor dx = native::on() ? native::conv2d_input_grad(lanes, dys[0].floats(), ws[0].value, b,
                                                             conv, height, width)
                                 : convolved_back(lanes, s, dys[0], ws[0], b);
  return record_with_parameters(
      "conv2d_input_grad", {dys[0].value, ws[0].value, b}, dx, Differentiable::kTwice,
      [lanes, s, conv, dy = kept(dys[1]), w = ws[1]](const Tensor& g,
                                                     const std::vector<bool>& needed) -> Tensors {
        require_values(dy);
        const auto gs = fork(activation({g}, integer_products_in_use(s)), 3);
        return {needed[0] ? forward(lanes, gs[0], w, Tensor(), conv) : Tensor(),
                needed[1] ? weight_grad(lanes, gs[1], dy, conv, kernel_of(w)) : Tensor(),
                needed[2] ? lane_column_sums(lanes, gs[2].value) : Tensor()};
      });
}

Tensor weight_grad(const LaneBlocks& lanes, const Factor& x_in, const Factor& dy_in, Conv conv,
                   Kernel kernel) {
  const numerics::ConvShape s{.n = x_in.size(0),
                              .h = x_in.size(1),
                              .w = x_in.size(2),
                              .in = x_in.size(3),
                              .out = dy_in.size(3),
                              .kh = kernel.h,
                              .kw = kernel.w,
                              .stride = conv.stride,
                              .pad = conv.pad};
  LOCKSTEP_ASSERT(dy_in.size(1) == s.out_h() && dy_in.size(2) == s.out_w());
  const auto xs = fork(activation(x_in, integer_products_in_use(s)), 2),
             dys = fork(activation(dy_in, integer_products_in_use(s)), 2);
  const Tensor dw = native::on()
                        ? native::conv2d_weight_grad(lanes, xs[0].floats(), dys[0].floats(), conv,
                                                     kernel.h, kernel.w)
                        : correlated(lanes, s, xs[0], dys[0]);
  return record("conv2d_weight_grad", {xs[0].value, dys[0].value}, dw, Differentiable::kTwice,
                [lanes, s, conv, x = kept(xs[1]), dy = kept(dys[1])](
                    const Tensor& g, const std::vector<bool>& needed) -> Tensors {
                  require_values(x);
                  require_values(dy);
                  const auto gs = fork(parameter({g}, integer_products_in_use(s)), 2);
                  return {
                      needed[0] ? input_grad(lanes, dy, gs[0], Tensor(), conv, s.h, s.w) : Tensor(),
                      needed[1] ? forward(lanes, x, gs[1], Tensor(), conv) : Tensor()};
                });
}

}  // namespace

Tensor conv2d(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b, Conv conv,
              const Epilogue& epilogue) {
  return forward(lanes, {x}, {w}, b, conv, epilogue);
}

Tensor conv2d_transpose(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b,
                        Conv conv, std::int64_t height, std::int64_t width) {
  return input_grad(lanes, {x}, {w}, b, conv, height, width);
}

}  // namespace lockstep::ops
