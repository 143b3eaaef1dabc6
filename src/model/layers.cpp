#include "lockstep/model/layers.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::model {

namespace {

constexpr float kEps = 1e-5f;

float inverse_sqrt(std::int64_t n) {
  return static_cast<float>(1.0 / numerics::host::sqrt(static_cast<double>(n)));
}

Init first_values(Start start, std::int64_t fan_in) {
  if (start == Start::kZero) return {Init::kConstant, 0.0f};
  return {Init::kUniform, inverse_sqrt(fan_in)};
}

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, Start start)
    : weight_(parameter("weight", {in, out}, first_values(start, in))),
      bias_(parameter("bias", {out}, first_values(start, in))) {}

Tensor Linear::forward(Context& context, const Tensor& x) {
  const ops::Scope here = scope();
  return ops::linear(context.lanes(), x, context.enter(weight_), context.enter(bias_));
}

double Linear::flops() const {
  return 2.0 * static_cast<double>(weight_.numel());
}

Conv2d::Conv2d(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride,
               Start start)
    : conv_{stride, size / 2},
      weight_(parameter("weight", {size, size, in, out}, first_values(start, size * size * in))),
      bias_(parameter("bias", {out}, first_values(start, size * size * in))) {}

Tensor Conv2d::forward(Context& context, const Tensor& x) {
  const ops::Scope here = scope();
  return ops::conv2d(context.lanes(), x, context.enter(weight_), context.enter(bias_), conv_);
}

double Conv2d::flops() const {
  return 2.0 * static_cast<double>(weight_.numel());
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, ops::Activation activation)
    : groups_(groups),
      activation_(activation),
      weight_(parameter("weight", {channels}, {Init::kConstant, 1.0f})),
      bias_(parameter("bias", {channels}, {Init::kConstant, 0.0f})) {}

Tensor GroupNorm::forward(Context& context, const Tensor& x) {
  const ops::Scope here = scope();
  return ops::group_norm(context.lanes(), x, context.enter(weight_), context.enter(bias_), groups_,
                         kEps, activation_);
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
SpectralLinear::SpectralLinear(std::int64_t in, std::int64_t out)
    : weight_(parameter("weight", {in, out}, first_values(Start::kDefault, in))),
      bias_(parameter("bias", {out}, first_values(Start::kDefault, in))),
      u_(buffer("u", {in}, {Init::kNormal, inverse_sqrt(in)})),
      v_(buffer("v", {out}, {Init::kNormal, inverse_sqrt(out)})) {}

void SpectralLinear::prepare(bool trained) {
  if (trained) ops::power_iteration(weight_.detach(), u_, v_);
  normalized_ = ops::spectral_normalize(weight_, u_, v_);
}

Tensor SpectralLinear::forward(Context& context, const Tensor& x) {
  const ops::Scope here = scope();
  LOCKSTEP_ASSERT(normalized_.defined(), "prepare() before forward()");
  return ops::linear(context.lanes(), x, context.enter(normalized_), context.enter(bias_));
}

double SpectralLinear::flops() const {
  return 2.0 * static_cast<double>(weight_.numel());
}

}  // namespace lockstep::model
