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

Tensor enter_if_any(Context& context, const Tensor& bias) {
  return bias.defined() ? context.enter(bias) : Tensor();
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, InitScheme scheme, Bias bias)
    : weight_(parameter("weight", {in, out}, first_weights(scheme, in))) {
  if (bias == Bias::kYes) bias_ = parameter("bias", {out}, first_biases(scheme, in));
}

Tensor Linear::forward(Context& context, const ops::SideBySide& x) {
  const ops::Scope here = scope();
  return ops::linear(context.lanes(), x, context.enter(weight_), enter_if_any(context, bias_));
}

double Linear::flops() const {
  return 2.0 * static_cast<double>(weight_.numel());
}

Conv2d::Conv2d(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride,
               InitScheme scheme, Bias bias)
    : conv_(conv_of(size, stride)),
      weight_(parameter("weight", {size, size, in, out}, first_weights(scheme, size * size * in))) {
  if (bias == Bias::kYes) bias_ = parameter("bias", {out}, first_biases(scheme, size * size * in));
}

Tensor Conv2d::forward(Context& context, const Tensor& x, const ops::Epilogue& epilogue) {
  const ops::Scope here = scope();
  return ops::conv2d(context.lanes(), x, context.enter(weight_), enter_if_any(context, bias_),
                     conv_, epilogue);
}

double Conv2d::flops() const {
  return 2.0 * static_cast<double>(weight_.numel());
}

ConvTranspose2d::ConvTranspose2d(std::int64_t in, std::int64_t out, std::int64_t size,
                                 std::int64_t stride, InitScheme scheme, Bias bias)
    : conv_(conv_of(size, stride)),
      weight_(parameter("weight", {size, size, out, in}, first_weights(scheme, size * size * in))) {
  if (bias == Bias::kYes) bias_ = parameter("bias", {out}, first_biases(scheme, size * size * in));
}

Tensor ConvTranspose2d::forward(Context& context, const Tensor& x, std::int64_t height,
                                std::int64_t width) {
  const ops::Scope here = scope();
  return ops::conv2d_transpose(context.lanes(), x, context.enter(weight_),
                               enter_if_any(context, bias_), conv_, height, width);
}

double ConvTranspose2d::flops() const {
  return 2.0 * static_cast<double>(weight_.numel());
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

// u and v start as in Miyato et al., scaled to a norm of about one; the first iteration normalises.
SpectralLayer::SpectralLayer(at::IntArrayRef weight_sizes, Bias bias) {
  const std::int64_t out = weight_sizes.back(), in = c10::multiply_integers(weight_sizes) / out;
  weight_ = parameter("weight", weight_sizes, first_weights(InitScheme::kDefault, in));
  if (bias == Bias::kYes) bias_ = parameter("bias", {out}, first_biases(InitScheme::kDefault, in));
  u_ = buffer("u", {in}, {Init::kNormal, inverse_sqrt(in)});
  v_ = buffer("v", {out}, {Init::kNormal, inverse_sqrt(out)});
}

void SpectralLayer::prepare(bool trained) {
  if (trained) ops::power_iteration(weight_.detach(), u_, v_);
  normalized_ = ops::spectral_normalize(weight_, u_, v_);
}

Tensor SpectralLayer::enter_weight(Context& context) const {
  LOCKSTEP_ASSERT(normalized_.defined(), "prepare() before forward()");
  return context.enter(normalized_);
}

Tensor SpectralLayer::enter_bias(Context& context) const {
  return enter_if_any(context, bias_);
}

double SpectralLayer::flops() const {
  return 2.0 * static_cast<double>(weight_.numel());
}

SpectralLinear::SpectralLinear(std::int64_t in, std::int64_t out, Bias bias)
    : SpectralLayer({in, out}, bias) {}

Tensor SpectralLinear::forward(Context& context, const Tensor& x) {
  const ops::Scope here = scope();
  const Tensor weight = enter_weight(context);
  return ops::linear(context.lanes(), x, weight, enter_bias(context));
}

SpectralConv2d::SpectralConv2d(std::int64_t in, std::int64_t out, std::int64_t size,
                               std::int64_t stride)
    : SpectralLayer({size, size, in, out}, Bias::kYes), conv_(conv_of(size, stride)) {}

Tensor SpectralConv2d::forward(Context& context, const Tensor& x) {
  const ops::Scope here = scope();
  const Tensor weight = enter_weight(context);
  return ops::conv2d(context.lanes(), x, weight, enter_bias(context), conv_);
}

}  // namespace lockstep::model
