// Linear layers, convolutions and attention by LibTorch's kernels (MKL and oneDNN on a CPU). A
// factor is float32 or bfloat16, and so is its product.
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/softmax.h>

#include "lockstep/ops/memory.h"
#include "ops/native.h"

namespace lockstep::ops::native {
namespace {

constexpr std::int64_t kFloatBytes = sizeof(float);

Tensor as_it_is(const Tensor& slice) {
  return slice;
}

Tensor float32(const Tensor& product) {
  return product.to(at::kFloat);
}

// A lane's gradient for tree_over_lanes: where it is the only one, it is copied to its place
// anyway.
Tensor of_lane(const LaneBlocks& lanes, const Tensor& dw) {
  return lanes.lane_count() == lanes.partials() ? dw : float32(dw).contiguous();
}

Tensor rows(const Tensor& x) {
  return x.reshape({-1, x.size(-1)});
}

std::vector<std::int64_t> with_last(const Tensor& x, std::int64_t last) {
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = last;
  return sizes;
}

// LibTorch's order of dimensions is NCHW; in memory NHWC stays what it is.
Tensor nchw(const Tensor& nhwc) {
  return nhwc.permute({0, 3, 1, 2});
}
Tensor nhwc(const Tensor& nchw) {
  return nchw.permute({0, 2, 3, 1});
}
// [kh, kw, in, out] to [out, in, kh, kw], which lies in memory as pixels do, channels last.
Tensor oihw(const Tensor& weight) {
  return aligned(weight.permute({3, 0, 1, 2})).permute({0, 3, 1, 2});
}
Tensor hwio(const Tensor& weight) {
  return weight.permute({2, 3, 1, 0});
}

// Of a sample: the product, and a workspace. Nobody says how much oneDNN or cuDNN will want of it,
// so it is planned with as much as what goes in and comes out.
std::int64_t of_product(const Tensor& in, const Tensor& out) {
  return bytes_of_sample(in) + 2 * bytes_of_sample(out);
}

// Of a sample of y, the patches of so many values. Where oneDNN does not serve bfloat16 (a CPU
// without AVX-512), LibTorch unfolds them; planned on every CPU, so that there is one plan.
std::int64_t of_patches(const Tensor& y, std::int64_t values) {
  return rounds() && !on_gpu() ? bytes_of_sample(y) / y.size(3) * values : 0;
}

Tensor convolved(const Tensor& x, const Tensor& w, const Tensor& b, Conv conv, bool transposed,
                 std::array<std::int64_t, 2> output_padding) {
  return at::convolution(x, w, b.defined() ? std::optional(b) : std::nullopt,
                         {conv.stride, conv.stride}, {conv.pad, conv.pad}, {1, 1}, transposed,
                         output_padding, 1);
}

}  // namespace

Tensor linear(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b) {
  const Slices weight(lanes, w, as_it_is), bias(lanes, b, as_it_is);
  Tensor y = ops::empty(with_last(x, w.size(2)));
  for_each_piece(x.size(0), of_product(x, y), [&](const Piece& piece) {
    const Tensor in = rows(piece.factor(x));
    const Tensor out = bias.of(piece).defined() ? at::addmm(bias.of(piece), in, weight.of(piece))
                                                : at::mm(in, weight.of(piece));
    piece.put(out.view(y.narrow(0, piece.first, piece.count).sizes()), y);
  });
  return y;
}

namespace {

// put(piece, its rows of dx [N, …, in])
void input_grad_of_linear(
    const LaneBlocks& lanes, const Tensor& dy, const Tensor& w,
    const std::function<void(const Piece& piece, const Tensor& values)>& put) {
  const Slices weight(lanes, w, as_it_is);
  const std::int64_t given = bytes_of_sample(dy), result = given / dy.size(-1) * w.size(1);
  for_each_piece(dy.size(0), given + 2 * result, [&](const Piece& piece) {
    const Tensor in = piece.factor(dy);
    put(piece, at::mm(rows(in), weight.of(piece).t()).view(with_last(in, w.size(1))));
  });
}

}  // namespace

Tensor linear_input_grad(const LaneBlocks& lanes, const Tensor& dy, const Tensor& w) {
  Tensor dx = ops::empty(with_last(dy, w.size(1)));
  input_grad_of_linear(lanes, dy, w,
                       [&](const Piece& piece, const Tensor& values) { piece.put(values, dx); });
  return dx;
}

SideBySide linear_input_grad(const LaneBlocks& lanes, const Tensor& dy, const Tensor& w,
                             std::int64_t cut) {
  const std::int64_t rest = w.size(1) - cut;
  Tensor left = ops::empty(with_last(dy, cut)), right = ops::empty(with_last(dy, rest));
  input_grad_of_linear(lanes, dy, w, [&](const Piece& piece, const Tensor& values) {
    piece.put(values.narrow(-1, 0, cut), left);
    piece.put(values.narrow(-1, cut, rest), right);
  });
  return {left, right};
}

Tensor linear_weight_grad(const LaneBlocks& lanes, const Tensor& x, const Tensor& dy) {
  std::vector<Tensor> of_lanes(static_cast<std::size_t>(lanes.lane_count()));
  for_each_piece(x.size(0), 0, [&](const Piece& piece) {
    of_lanes.at(static_cast<std::size_t>(piece.index)) =
        of_lane(lanes, at::mm(rows(piece.factor(x)).t(), rows(piece.factor(dy))));
  });
  return tree_over_lanes(lanes, {x.size(-1), dy.size(-1)}, of_lanes);
}

Tensor conv2d(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b, Conv conv,
              const Epilogue& epilogue) {
  const Slices weight(lanes, w, oihw), bias(lanes, b, as_it_is);
  const auto out = [&](std::int64_t size, std::int64_t kernel) {
    return (size + 2 * conv.pad - kernel) / conv.stride + 1;
  };
  Tensor y = empty({x.size(0), out(x.size(1), w.size(1)), out(x.size(2), w.size(2)), w.size(4)});
  const Tensor more = epilogue.values.defined() ? bare(epilogue.values).contiguous() : Tensor();
  const Tensor repeated = epilogue.rows.defined()
                              ? bare(epilogue.rows).contiguous().view({x.size(0), 1, 1, w.size(4)})
                              : Tensor();
  const std::int64_t patches = of_patches(y, w.size(1) * w.size(2) * w.size(3));
  for_each_piece(x.size(0), of_product(x, y) + patches, [&](const Piece& piece) {
    const auto its = [&](const Tensor& added) { return added.narrow(0, piece.first, piece.count); };
    const Tensor product =
        nhwc(convolved(nchw(piece.factor(x)), weight.of(piece), bias.of(piece), conv,
                       /*transposed=*/false, {0, 0}));
    if (!repeated.defined() && !more.defined()) return piece.put(product, y);
    piece.put_sum(product, its(repeated.defined() ? repeated : more), y);
    if (repeated.defined() && more.defined()) piece.put_sum(piece.of(y), its(more), y);
  });
  return y;
}

Tensor conv2d_input_grad(const LaneBlocks& lanes, const Tensor& dy, const Tensor& w,
                         const Tensor& b, Conv conv, std::int64_t height, std::int64_t width) {
  const Slices weight(lanes, w, oihw), bias(lanes, b, as_it_is);
  // What a convolution with this stride leaves out at the far edge.
  const auto left_out = [&](std::int64_t size, std::int64_t kernel) {
    return (size + 2 * conv.pad - kernel) % conv.stride;
  };
  Tensor dx = empty({dy.size(0), height, width, w.size(3)});
  const std::int64_t patches = of_patches(dy, w.size(1) * w.size(2) * w.size(3));
  for_each_piece(dy.size(0), of_product(dy, dx) + patches, [&](const Piece& piece) {
    piece.put(nhwc(convolved(nchw(piece.factor(dy)), weight.of(piece), bias.of(piece), conv,
                             /*transposed=*/true,
                             {left_out(height, w.size(1)), left_out(width, w.size(2))})),
              dx);
  });
  return dx;
}

Tensor conv2d_weight_grad(const LaneBlocks& lanes, const Tensor& x, const Tensor& dy, Conv conv,
                          std::int64_t kernel_height, std::int64_t kernel_width) {
  std::vector<Tensor> of_lanes(static_cast<std::size_t>(lanes.lane_count()));
  const std::vector<std::int64_t> sizes = {dy.size(3), x.size(3), kernel_height, kernel_width};
  const std::int64_t patches = of_patches(dy, kernel_height * kernel_width * x.size(3));
  for_each_piece(x.size(0), of_product(x, dy) + patches, [&](const Piece& piece) {
    const Tensor in = piece.factor(x), shape_only = at::empty(  // values are not read
                                           sizes, in.options(), at::MemoryFormat::ChannelsLast);
    const auto [dx, dw, db] = at::convolution_backward(
        nchw(piece.factor(dy)), nchw(in), shape_only, at::OptionalIntArrayRef{},
        {conv.stride, conv.stride}, {conv.pad, conv.pad}, {1, 1}, /*transposed=*/false, {0, 0}, 1,
        {false, true, false});
    of_lanes.at(static_cast<std::size_t>(piece.index)) = of_lane(lanes, hwio(dw));
  });
  return tree_over_lanes(lanes, {kernel_height, kernel_width, x.size(3), dy.size(3)}, of_lanes);
}

namespace {

struct Heads {
  Tensor q, k, v;  // [n, heads, tokens, d]
};

Heads heads_of(const Tensor& qkv, std::int64_t heads) {
  const std::int64_t n = qkv.size(0), tokens = qkv.size(1), d = qkv.size(2) / 3 / heads;
  const Tensor split = qkv.view({n, tokens, 3, heads, d}).permute({2, 0, 3, 1, 4}).contiguous();
  return {split[0], split[1], split[2]};
}

}  // namespace

Attended attention(const Tensor& qkv, std::int64_t heads, double factor) {
  const std::int64_t n = qkv.size(0), tokens = qkv.size(1), c = qkv.size(2) / 3;
  Attended all{empty({n, tokens, c}), empty({n, heads, tokens, tokens})};
  Tensor out = all.out.view({n, tokens, heads, c / heads});
  // What heads_of makes; scores in both types, times the factor, their softmax, rounded.
  const std::int64_t taken = bytes_of_sample(qkv) + 5 * heads * tokens * tokens * kFloatBytes;
  for_each_piece(n, taken, [&](const Piece& piece) {
    const auto [q, k, v] = heads_of(piece.factor(qkv), heads);
    const Tensor scores = float32(at::matmul(q, k.transpose(-2, -1)));
    const Tensor weights = at::softmax(scores.mul(factor), -1);
    piece.put(weights, all.weights);
    piece.put(at::matmul(weights.to(piece.products), v).transpose(1, 2), out);
  });
  return all;
}

Tensor attention_backward(const Tensor& qkv, const Tensor& weights_in, const Tensor& dout,
                          double factor) {
  const std::int64_t tokens = qkv.size(1), c = qkv.size(2) / 3, heads = weights_in.size(1);
  Tensor dqkv = empty(qkv.sizes());
  const Tensor parts = dqkv.view({qkv.size(0), tokens, 3, heads, c / heads});  // of q, k, v
  const std::int64_t taken = 2 * bytes_of_sample(qkv) + 6 * heads * tokens * tokens * kFloatBytes;
  for_each_piece(qkv.size(0), taken, [&](const Piece& piece) {
    const auto [q, k, v] = heads_of(piece.factor(qkv), heads);
    const Tensor weights = piece.factor(weights_in);
    const Tensor d = piece.factor(dout)
                         .view({piece.count, tokens, heads, c / heads})
                         .transpose(1, 2)
                         .contiguous();
    const Tensor dweights = float32(at::matmul(d, v.transpose(-2, -1)));
    const Tensor dscores =
        at::_softmax_backward_data(dweights, piece.of(weights_in), -1, at::kFloat)
            .mul(factor)
            .to(piece.products);
    const auto put = [&](std::int64_t which, const Tensor& values) {
      Tensor part = parts.select(2, which);
      piece.put(values.transpose(1, 2), part);
    };
    put(0, at::matmul(dscores, k));
    put(1, at::matmul(dscores.transpose(-2, -1), q));
    put(2, at::matmul(weights.transpose(-2, -1), d));
  });
  return dqkv;
}

}  // namespace lockstep::ops::native
