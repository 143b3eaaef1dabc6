// Convolution, its input gradient (transposed convolution) and its weight gradient: each is the
// others' derivative, so all are twice differentiable.

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "ops/native.h"
#include "ops/partials.h"

namespace lockstep::ops {
namespace {

// `image` [N, H, W, in] is the big side, weights are [P, kh, kw, in, out].
numerics::ConvShape shape_of(std::int64_t n, std::int64_t h, std::int64_t w, const Tensor& weight,
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
Tensor convolved(const LaneBlocks& lanes, numerics::ConvShape s, const Tensor& x, const Tensor& w,
                 const Tensor& b) {
  const std::int64_t x_size = s.h * s.w * s.in, y_size = s.out_h() * s.out_w() * s.out;
  Tensor y = empty({s.n, s.out_h(), s.out_w(), s.out});
  for_each_partial(lanes, {w, b}, [&](const Slice& slice) {
    s.n = slice.samples;
    device().conv2d(s, read(x) + slice.first_sample * x_size, slice.data(w),
                    b.defined() ? slice.data(b) : nullptr, write(y) + slice.first_sample * y_size);
  });
  return y;
}

Tensor convolved_back(const LaneBlocks& lanes, numerics::ConvShape s, const Tensor& dy,
                      const Tensor& w, const Tensor& b) {
  const std::int64_t x_size = s.h * s.w * s.in, y_size = s.out_h() * s.out_w() * s.out;
  Tensor dx = empty({s.n, s.h, s.w, s.in});
  for_each_partial(lanes, {w, b}, [&](const Slice& slice) {
    s.n = slice.samples;
    device().conv2d_input_grad(s, read(dy) + slice.first_sample * y_size, slice.data(w),
                               b.defined() ? slice.data(b) : nullptr,
                               write(dx) + slice.first_sample * x_size);
  });
  return dx;
}

Tensor correlated(const LaneBlocks& lanes, const numerics::ConvShape& s, const Tensor& x,
                  const Tensor& dy) {
  Tensor dw = empty({lanes.partials(), s.kh, s.kw, s.in, s.out});
  device().conv2d_weight_grad(s, lanes, read(x), read(dy), write(dw));
  return dw;
}

Tensor weight_grad(const LaneBlocks& lanes, const Tensor& x, const Tensor& dy, Conv conv,
                   Kernel kernel);
Tensor input_grad(const LaneBlocks& lanes, const Tensor& dy, const Tensor& w, const Tensor& b,
                  Conv conv, std::int64_t height, std::int64_t width);

Tensor forward(const LaneBlocks& lanes, const Tensor& x_in, const Tensor& w, const Tensor& b,
               Conv conv) {
  const Tensors xs = fork(x_in, 2), ws = fork(w, 2);
  const Tensor x = xs[0].contiguous();
  LOCKSTEP_ASSERT(x.size(0) == lanes.samples() && x.size(3) == w.size(3));
  const numerics::ConvShape s = shape_of(x.size(0), x.size(1), x.size(2), w, conv);
  const std::int64_t height = s.h, width = s.w;
  const Tensor y =
      native::on() ? native::conv2d(lanes, x, w, b, conv) : convolved(lanes, s, x, w, b);
  return record_with_parameters(
      "conv2d", {xs[0], ws[0], b}, y, Differentiable::kTwice,
      [=, x_saved = xs[1], w_saved = ws[1]](const Tensor& dy,
                                            const std::vector<bool>& needed) -> Tensors {
        const Tensors dys = fork(dy, 3);
        return {needed[0] ? input_grad(lanes, dys[0], w_saved, Tensor(), conv, height, width)
                          : Tensor(),
                needed[1]
                    ? weight_grad(lanes, x_saved, dys[1], conv, {w_saved.size(1), w_saved.size(2)})
                    : Tensor(),
                needed[2] ? lane_column_sums(lanes, dys[2]) : Tensor()};
      });
}

Tensor input_grad(const LaneBlocks& lanes, const Tensor& dy_in, const Tensor& w, const Tensor& b,
                  Conv conv, std::int64_t height, std::int64_t width) {
  const Tensors dys = fork(dy_in, 2), ws = fork(w, 2);
  const Tensor dy = dys[0].contiguous();
  const numerics::ConvShape s = shape_of(dy.size(0), height, width, w, conv);
  LOCKSTEP_ASSERT(dy.size(0) == lanes.samples() && dy.size(1) == s.out_h() &&
                      dy.size(2) == s.out_w() && dy.size(3) == s.out,
                  "transposed convolution: sizes do not fit");
  const Tensor dx = native::on() ? native::conv2d_input_grad(lanes, dy, w, b, conv, height, width)
                                 : convolved_back(lanes, s, dy, w, b);
  return record_with_parameters(
      "conv2d_input_grad", {dys[0], ws[0], b}, dx, Differentiable::kTwice,
      [=, dy_saved = dys[1], w_saved = ws[1]](const Tensor& g,
                                              const std::vector<bool>& needed) -> Tensors {
        const Tensors gs = fork(g, 3);
        return {needed[0] ? forward(lanes, gs[0], w_saved, Tensor(), conv) : Tensor(),
                needed[1]
                    ? weight_grad(lanes, gs[1], dy_saved, conv, {w_saved.size(1), w_saved.size(2)})
                    : Tensor(),
                needed[2] ? lane_column_sums(lanes, gs[2]) : Tensor()};
      });
}

Tensor weight_grad(const LaneBlocks& lanes, const Tensor& x_in, const Tensor& dy_in, Conv conv,
                   Kernel kernel) {
  const Tensors xs = fork(x_in, 2), dys = fork(dy_in, 2);
  const Tensor x = xs[0].contiguous(), dy = dys[0].contiguous();
  const numerics::ConvShape s{.n = x.size(0),
                              .h = x.size(1),
                              .w = x.size(2),
                              .in = x.size(3),
                              .out = dy.size(3),
                              .kh = kernel.h,
                              .kw = kernel.w,
                              .stride = conv.stride,
                              .pad = conv.pad};
  LOCKSTEP_ASSERT(dy.size(1) == s.out_h() && dy.size(2) == s.out_w());
  const Tensor dw = native::on()
                        ? native::conv2d_weight_grad(lanes, x, dy, conv, kernel.h, kernel.w)
                        : correlated(lanes, s, x, dy);
  const std::int64_t height = s.h, width = s.w;
  return record("conv2d_weight_grad", {xs[0], dys[0]}, dw, Differentiable::kTwice,
                [=, x_saved = xs[1], dy_saved = dys[1]](
                    const Tensor& g, const std::vector<bool>& needed) -> Tensors {
                  const Tensors gs = fork(g, 2);
                  return {needed[0]
                              ? input_grad(lanes, dy_saved, gs[0], Tensor(), conv, height, width)
                              : Tensor(),
                          needed[1] ? forward(lanes, x_saved, gs[1], Tensor(), conv) : Tensor()};
                });
}

}  // namespace

Tensor conv2d(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b,
              Conv conv) {
  return forward(lanes, x, w, b, conv);
}

Tensor conv2d_transpose(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b,
                        Conv conv, std::int64_t height, std::int64_t width) {
  return input_grad(lanes, x, w, b, conv, height, width);
}

}  // namespace lockstep::ops
