#include "lockstep/model/layers.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/numerics/stream.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"

namespace lockstep::model {

namespace {

constexpr float kEps = 1e-5f;

float inverse_sqrt(std::int64_t n) {
  return static_cast<float>(1.0 / numerics::host::sqrt(static_cast<double>(n)));
}

constexpr float kDcganDeviation = 0.02f;

Init first_weights(InitScheme scheme, std::int64_t fan_in) {
  switch (scheme) {
    case InitScheme::kZero:
      return {Init::kConstant, 0.0f};
    case InitScheme::kDcgan:
      return {Init::kNormal, kDcganDeviation};
    case InitScheme::kDefault:
      break;
  }
  return {Init::kUniform, inverse_sqrt(fan_in)};
}

Init first_biases(InitScheme scheme, std::int64_t fan_in) {
  return scheme == InitScheme::kDcgan ? Init{Init::kConstant, 0.0f} : first_weights(scheme, fan_in);
}

ops::Conv conv_of(std::int64_t size, std::int64_t stride) {
  return {stride, (size - 1) / 2};
}

}  // namespace

// u and v start as in Miyato et al., scaled to a norm of about one; the first iteration normalises.
WeightedLayer::WeightedLayer(at::IntArrayRef weight_sizes, std::int64_t fan_in, std::int64_t out,
                             const Weights& weights)
    : weight_(parameter("weight", weight_sizes, first_weights(weights.first, fan_in))) {
  if (weights.bias == Bias::kYes)
    bias_ = parameter("bias", {out}, first_biases(weights.first, fan_in));
  if (weights.spectral == SpectralNorm::kNo) return;
  const std::int64_t columns = weight_sizes.back(), rows = weight_.numel() / columns;
  u_ = buffer("u", {rows}, {Init::kNormal, inverse_sqrt(rows)});
  v_ = buffer("v", {columns}, {Init::kNormal, inverse_sqrt(columns)});
}

void WeightedLayer::prepare(bool trained) {
  if (!u_.defined()) return;
  if (trained) ops::power_iteration(weight_.detach(), u_, v_);
  normalized_ = ops::spectral_normalize(weight_, u_, v_);
}

Tensor WeightedLayer::enter_weight(Context& context) const {
  if (!u_.defined()) return context.enter(weight_);
  LOCKSTEP_ASSERT(normalized_.defined(), "prepare() before forward()");
  return context.enter(normalized_);
}

Tensor WeightedLayer::enter_bias(Context& context) const {
  return bias_.defined() ? context.enter(bias_) : Tensor();
}

double WeightedLayer::flops() const {
  return 2.0 * static_cast<double>(weight_.numel());
}

Linear::Linear(std::int64_t in, std::int64_t out, const Weights& weights)
    : WeightedLayer({in, out}, in, out, weights) {}

Tensor Linear::forward(Context& context, const ops::SideBySide& x) {
  const ops::Scope here = scope();
  const Tensor weight = enter_weight(context);
  return ops::linear(context.lanes(), x, weight, enter_bias(context));
}

Conv2d::Conv2d(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride,
               const Weights& weights)
    : WeightedLayer({size, size, in, out}, size * size * in, out, weights),
      conv_(conv_of(size, stride)) {}

Tensor Conv2d::forward(Context& context, const Tensor& x, const ops::Epilogue& epilogue) {
  const ops::Scope here = scope();
  const Tensor weight = enter_weight(context);
  return ops::conv2d(context.lanes(), x, weight, enter_bias(context), conv_, epilogue);
}

ConvTranspose2d::ConvTranspose2d(std::int64_t in, std::int64_t out, std::int64_t size,
                                 std::int64_t stride, const Weights& weights)
    : WeightedLayer({size, size, out, in}, size * size * in, out, weights),
      conv_(conv_of(size, stride)) {}

Tensor ConvTranspose2d::forward(Context& context, const Tensor& x, std::int64_t height,
                                std::int64_t width) {
  const ops::Scope here = scope();
  const Tensor weight = enter_weight(context);
  return ops::conv2d_transpose(context.lanes(), x, weight, enter_bias(context), conv_, height,
                               width);
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, ops::Activation activation)
    : groups_(groups),
      activation_(activation),
      weight_(parameter("weight", {channels}, {Init::kConstant, 1.0f})),
      bias_(parameter("bias", {channels}, {Init::kConstant, 0.0f})) {}

Tensor GroupNorm::forward(Context& context, const ops::SideBySide& x) {
  const ops::Scope here = scope();
  return ops::group_norm(context.lanes(), x, context.enter(weight_), context.enter(bias_), groups_,
                         kEps, activation_);
}

Tensor Dropout::forward(Context& context, const Tensor& x) const {
  if (rate_ == 0 || !context.draws()) return x;
  const ops::Scope here = scope();
  Tensor mask = ops::empty(x.sizes());
  ops::device().fill_mask(numerics::stream(context.draws()->seed, "dropout/" + place()),
                          static_cast<std::uint64_t>(context.draws()->first.value), x.size(0),
                          x.numel() / x.size(0), static_cast<float>(rate_),
                          static_cast<float>(1 / (1 - rate_)), ops::write(mask));
  return ops::multiply(x, mask);
}

BatchNorm::BatchNorm(std::int64_t channels)
    : weight_(parameter("weight", {channels}, {Init::kConstant, 1.0f})),
      bias_(parameter("bias", {channels}, {Init::kConstant, 0.0f})) {
  state_.running_mean = buffer("running_mean", {channels}, {Init::kConstant, 0.0f});
  state_.running_var = buffer("running_var", {channels}, {Init::kConstant, 1.0f});
}

Tensor BatchNorm::forward(Context& context, const Tensor& x, bool track) {
  const ops::Scope here = scope();
  return lane::batch_norm(context, x, context.enter(weight_), context.enter(bias_), state_, track);
}

}  // namespace lockstep::model
