// Lane-aware ops over our kernels. Activations are [samples, ..., channels] (NHWC), samples
// lane-major.
//
// A parameter enters with a leading dimension P = partials of the rank (`lanes.lanes.size()`): the
// same values P times (a view with stride 0). Its gradient is [P, ...], one partial for each
// maximal subtree of the rank's lanes; summing partials over ranks in the tree is lane/exchange.h's
// work. If the P slices differ (gradients of gradients) each applies to the samples of its subtree.
//
// Bits: of every op: values, shapes and lanes; see docs/numerics.md for the orders.
#pragma once

#include "lockstep/numerics/spec/elementwise.h"
#include "lockstep/numerics/spec/shapes.h"
#include "lockstep/numerics/tree.h"
#include "lockstep/ops/record.h"

namespace lockstep::ops {

using numerics::Activation;
using numerics::LaneBlocks;

// One tensor [N, ..., C], or two whose channels lie side by side: what their concatenation would
// be, without a copy of it.
struct SideBySide {
  Tensor left;
  Tensor right;  // undefined: there is one

  SideBySide(const Tensor& whole) : left(whole) {}  // not explicit: it is one
  SideBySide(const Tensor& left_in, const Tensor& right_in) : left(left_in), right(right_in) {}
  std::int64_t channels() const { return left.size(-1) + (right.defined() ? right.size(-1) : 0); }
};

// `uses` equal ones (record.h).
std::vector<SideBySide> fork(const SideBySide& x, int uses);

// Twice differentiable
// --------------------

// x [N, ..., in], w [P, in, out], b [P, out] or undefined -> [N, ..., out]. Two tensors side by
// side: once differentiable.
Tensor linear(const LaneBlocks& lanes, const SideBySide& x, const Tensor& w, const Tensor& b);

struct Conv {
  std::int64_t stride = 1, pad = 0;
};
// What is added to the results of a convolution after its bias; each may be undefined.
struct Epilogue {
  Tensor rows = {};    // [N, out]: the same at every position
  Tensor values = {};  // of the result's shape
};
// x [N, H, W, in], w [P, kh, kw, in, out], b [P, out] or undefined
Tensor conv2d(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b, Conv conv,
              const Epilogue& epilogue = {});
// The transpose: x [N, h, w, in], w [P, kh, kw, out, in] -> [N, height, width, out], whose conv2d
// with `conv` has h x w positions (Error(kBug) otherwise). b [P, out] or undefined.
Tensor conv2d_transpose(const LaneBlocks& lanes, const Tensor& x, const Tensor& w, const Tensor& b,
                        Conv conv, std::int64_t height, std::int64_t width);
Tensor leaky_relu(const Tensor& x, float slope);  // slope 0: relu
Tensor add(const Tensor& a, const Tensor& b);
Tensor subtract(const Tensor& a, const Tensor& b);
Tensor multiply(const Tensor& a, const Tensor& b);  // same shape
Tensor scale(const Tensor& x, float factor);
Tensor scale_rows(const Tensor& x, const Tensor& v);  // x [N, ...] * v [N]
Tensor row_sums(const Tensor& x);                     // [N, ...] -> [N]
Tensor row_dots(const Tensor& a, const Tensor& b);    // [N, ...] x 2 -> [N], sum of a*b of a sample
Tensor row_squares(const Tensor& x);                  // [N, ...] -> [N], sum of squares of a sample
Tensor spatial_sums(const Tensor& x);                 // [N, H, W, C] -> [N, C]
// Sum of l [N] inside each lane (blocked chain), then the tree over each partial's lanes: -> [P].
Tensor lane_sums(const LaneBlocks& lanes, const Tensor& l);
Tensor reshape(const Tensor& x, at::IntArrayRef sizes);
Tensor concat_channels(const Tensor& a, const Tensor& b);  // along the last dimension
// [N, H, W, C] -> [N, patches, side*side*C]: square patches, y then x, and in each its positions, y
// then x. side divides H and W.
Tensor patches(const Tensor& x, std::int64_t side);
// The way back: [N, patches, side*side*C] -> [N, height, width, C].
Tensor from_patches(const Tensor& x, std::int64_t side, std::int64_t height, std::int64_t width);

// Once differentiable
// -------------------

// x of any shape -> the same; see numerics/elementwise.h.
Tensor unary(numerics::Unary op, const Tensor& x);
inline Tensor silu(const Tensor& x) {
  return unary(numerics::Unary::kSilu, x);
}
inline Tensor tanh(const Tensor& x) {
  return unary(numerics::Unary::kTanh, x);
}
inline Tensor softplus(const Tensor& x) {
  return unary(numerics::Unary::kSoftplus, x);
}
inline Tensor gelu_tanh(const Tensor& x) {
  return unary(numerics::Unary::kGeluTanh, x);
}
// x [N, ..., C], gamma, beta [P, C]; a group may lie on both sides
Tensor group_norm(const LaneBlocks& lanes, const SideBySide& x, const Tensor& gamma,
                  const Tensor& beta, std::int64_t groups, float eps, Activation activation);
Tensor layer_norm(const LaneBlocks& lanes, const Tensor& x, const Tensor& gamma, const Tensor& beta,
                  float eps);
// Adaptive layer norm (Peebles & Xie 2023, section 3.2): x [N, tokens, C], and of each sample a row
// [N, 2*C], its shift and then its scale: layer norm with gamma = 1 + scale, beta = shift.
Tensor adaptive_layer_norm(const Tensor& x, const Tensor& modulation, float eps);
// x + gate * branch, both [N, tokens, C], with a row [N, C] of each sample (the same paper).
Tensor gated_add(const Tensor& x, const Tensor& branch, const Tensor& gate);
// qkv [N, tokens, 3*C], heads divide C; q, k, v are the thirds of the last dimension, head-major.
// softmax(q k^T / sqrt(C/heads)) v -> [N, tokens, C]
Tensor attention(const Tensor& qkv, std::int64_t heads);
Tensor upsample_nearest(const Tensor& x, std::int64_t height, std::int64_t width);
// Mean squared difference of a sample: [N, ...] x 2 -> [N]; gradient to a only (b is a target).
Tensor mean_squared_error(const Tensor& a, const Tensor& target);
// Cross-entropy of a sample, -log(softmax(logits) at its class): [N, classes], rows of a condition
// (1 at the class, else 0) -> [N]. The share is at least 2^-126, so that a loss is finite; the
// gradient, softmax - condition, goes to the logits only.
Tensor cross_entropy(const Tensor& logits, const Tensor& condition);

// The parameter graph: no lanes, once differentiable
// --------------------------------------------------

// w / sigma, sigma = u^T W v, W [rows, cols] = w with its last dimension as cols (Miyato et al.
// 2018).
Tensor spectral_normalize(const Tensor& w, const Tensor& u, const Tensor& v);
// One power iteration in place: v = normalise(W^T u), u = normalise(W v).
void power_iteration(const Tensor& w, Tensor& u, Tensor& v);

}  // namespace lockstep::ops
