// Normalisation and activations by LibTorch's kernels.
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/native_group_norm.h>
#include <ATen/ops/native_group_norm_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/softplus_backward.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>

#include "lockstep/core/error.h"
#include "ops/native.h"

namespace lockstep::ops::native {
namespace {

using numerics::Unary;

Tensor channels_last(const Tensor& x) {
  return x.movedim(1, -1);
}

Tensor activate(Unary op, const Tensor& x) {
  switch (op) {
    case Unary::kTanh:
      return at::tanh(x);
    case Unary::kSigmoid:
      return at::sigmoid(x);
    case Unary::kSilu:
      return at::silu(x);
    case Unary::kSoftplus:
      return at::softplus(x);
    case Unary::kGeluTanh:
      return at::gelu(x, "tanh");
    default:
      break;
  }
  throw Error(Code::kBug, "no native kernel for this function");
}

Tensor activate_backward(Unary op, const Tensor& x, const Tensor& dy) {
  switch (op) {
    case Unary::kTanh:
      return at::tanh_backward(dy, at::tanh(x));
    case Unary::kSigmoid:
      return at::sigmoid_backward(dy, at::sigmoid(x));
    case Unary::kSilu:
      return at::silu_backward(dy, x);
    case Unary::kSoftplus:
      return at::softplus_backward(dy, x, /*beta=*/1, /*threshold=*/20);
    case Unary::kGeluTanh:
      return at::gelu_backward(dy, x, "tanh");
    default:
      break;
  }
  throw Error(Code::kBug, "no native kernel for this function's gradient");
}

// Gradients of an affine normalisation, gathered lane by lane.
struct Gathered {
  std::vector<Tensor> dgamma, dbeta;

  explicit Gathered(const LaneBlocks& lanes)
      : dgamma(static_cast<std::size_t>(lanes.lane_count())), dbeta(dgamma.size()) {}
  void put(const Piece& piece, const Tensor& gamma, const Tensor& beta) {
    dgamma.at(static_cast<std::size_t>(piece.index)) = gamma.contiguous();
    dbeta.at(static_cast<std::size_t>(piece.index)) = beta.contiguous();
  }
};

}  // namespace

// In memory only pictures may keep them last, and only on a CPU: native_group_norm asks for that.
Tensor channels_second(const Tensor& x) {
  const Tensor second = x.movedim(-1, 1);
  return x.dim() == 4 && x.is_cpu() ? second : second.contiguous();
}

bool has(Unary op) {
  return op == Unary::kTanh || op == Unary::kSigmoid || op == Unary::kSilu ||
         op == Unary::kSoftplus || op == Unary::kGeluTanh;
}

Tensor unary(Unary op, const Tensor& x) {
  Tensor y = empty(x.sizes());
  for_each_piece(x.size(0), [&](const Piece& piece) { piece.put(activate(op, piece.of(x)), y); });
  return y;
}

Tensor unary_backward(Unary op, const Tensor& x, const Tensor& dy) {
  Tensor dx = empty(x.sizes());
  for_each_piece(x.size(0), [&](const Piece& piece) {
    piece.put(activate_backward(op, piece.of(x), piece.of(dy)), dx);
  });
  return dx;
}

Normalised group_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, std::int64_t groups,
                      float eps, Activation activation) {
  const std::int64_t n = x.size(0), c = x.size(-1), spatial = x.numel() / n / c;
  Normalised all{empty(x.sizes()), empty({n, groups}), empty({n, groups})};
  for_each_piece(n, [&](const Piece& piece) {
    const auto [y, mean, rstd] =
        at::native_group_norm(channels_second(piece.of(x)), aligned(gamma), aligned(beta),
                              piece.count, c, spatial, groups, static_cast<double>(eps));
    piece.put(channels_last(activation == Activation::kSilu ? at::silu(y) : y), all.y);
    piece.put(mean, all.mean);
    piece.put(rstd, all.rstd);
  });
  return all;
}

NormGradients group_norm_backward(const LaneBlocks& lanes, const Tensor& x, const Tensor& gamma,
                                  const Tensor& beta, const Tensor& mean, const Tensor& rstd,
                                  Activation activation, const Tensor& dy) {
  const std::int64_t c = x.size(-1), spatial = x.numel() / x.size(0) / c, groups = mean.size(1);
  NormGradients all{empty(x.sizes()), {}, {}};
  Gathered gathered(lanes);
  for_each_piece(x.size(0), [&](const Piece& piece) {
    const Tensor in = channels_second(piece.of(x)), m = piece.of(mean), r = piece.of(rstd);
    Tensor g = channels_second(piece.of(dy));
    if (activation == Activation::kSilu) {
      // What went into the activation, from the saved statistics.
      const Tensor grouped = in.reshape({piece.count, groups, c / groups, spatial});
      const Tensor xhat = grouped.sub(m.view({piece.count, groups, 1, 1}))
                              .mul(r.view({piece.count, groups, 1, 1}))
                              .view({piece.count, c, spatial});
      const Tensor y = xhat.mul(aligned(gamma).view({1, c, 1})).add(aligned(beta).view({1, c, 1}));
      g = at::silu_backward(g.contiguous(), y.view(g.sizes()));
    }
    const auto [dx, dgamma, dbeta] =
        at::native_group_norm_backward(g.contiguous(), in.contiguous(), m, r, aligned(gamma),
                                       piece.count, c, spatial, groups, {true, true, true});
    piece.put(channels_last(dx), all.dx);
    gathered.put(piece, dgamma, dbeta);
  });
  all.dgamma = tree_over_lanes(lanes, gathered.dgamma);
  all.dbeta = tree_over_lanes(lanes, gathered.dbeta);
  return all;
}

Normalised layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, float eps) {
  std::vector<std::int64_t> kept = x.sizes().vec();
  kept.back() = 1;
  Normalised all{ops::empty(x.sizes()), ops::empty(kept), ops::empty(kept)};
  for_each_piece(x.size(0), [&](const Piece& piece) {
    const auto [y, mean, rstd] = at::native_layer_norm(piece.of(x), {x.size(-1)}, aligned(gamma),
                                                       aligned(beta), static_cast<double>(eps));
    piece.put(y, all.y);
    piece.put(mean, all.mean);
    piece.put(rstd, all.rstd);
  });
  return all;
}

NormGradients layer_norm_backward(const LaneBlocks& lanes, const Tensor& x, const Tensor& gamma,
                                  const Tensor& beta, const Tensor& mean, const Tensor& rstd,
                                  const Tensor& dy) {
  NormGradients all{empty(x.sizes()), {}, {}};
  Gathered gathered(lanes);
  for_each_piece(x.size(0), [&](const Piece& piece) {
    const auto [dx, dgamma, dbeta] = at::native_layer_norm_backward(
        piece.of(dy), piece.of(x), {x.size(-1)}, piece.of(mean), piece.of(rstd), aligned(gamma),
        aligned(beta), {true, true, true});
    piece.put(dx, all.dx);
    gathered.put(piece, dgamma, dbeta);
  });
  all.dgamma = tree_over_lanes(lanes, gathered.dgamma);
  all.dbeta = tree_over_lanes(lanes, gathered.dbeta);
  return all;
}

}  // namespace lockstep::ops::native
