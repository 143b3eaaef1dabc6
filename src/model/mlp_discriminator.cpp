// Multilayer perceptron that discriminates: Lipschitz by spectral norm, if asked for, and twice
// differentiable, for gradient penalties.
#include "lockstep/model/mlp_discriminator.h"

#include "model/conditions.h"
#include "model/kinds.h"
#include "model/spectral.h"

namespace lockstep::model {
namespace {

constexpr float kSlope = 0.2f;

// x -> (linear, leaky relu) x layers -> linear to one logit; all spectral, or none
class MlpDiscriminator : public Discriminator {
 public:
  MlpDiscriminator(const MlpDiscriminatorOptions& o, const Shape& shape, std::int64_t classes)
      : width_(elements(shape)) {
    const Weights weights{.spectral = spectral(o.norm)};
    std::int64_t width = width_;
    for (std::int64_t i = 0; i < o.layers; ++i) {
      hidden_.push_back(register_module("hidden" + std::to_string(i),
                                        std::make_shared<Linear>(width, o.hidden, weights)));
      width = o.hidden;
    }
    output_ = register_module("output", std::make_shared<Linear>(width, 1, weights));
    if (classes > 0)
      classes_ = register_module("classes",
                                 std::make_shared<Linear>(classes, width, without_bias(weights)));
  }

  Tensor forward(Context& context, const Tensor& x, const Tensor& condition,
                 bool /*trained*/) override {
    const ops::Scope here = scope();
    Tensor h = ops::reshape(x, {x.size(0), width_});
    for (const auto& layer : hidden_) h = ops::leaky_relu(layer->forward(context, h), kSlope);
    return logits(context, *output_, classes_, h, condition);
  }

  double forward_flops() const override {
    double sum = output_->flops() + (classes_ ? classes_->flops() : 0.0);
    for (const auto& layer : hidden_) sum += layer->flops();
    return sum;
  }

 private:
  std::int64_t width_;
  std::vector<std::shared_ptr<Linear>> hidden_;
  std::shared_ptr<Linear> output_, classes_;
};

}  // namespace

std::shared_ptr<Network> make_mlp_discriminator(const Options& options, const Shape& shape,
                                                std::int64_t classes) {
  return std::make_shared<MlpDiscriminator>(options.kind.as<MlpDiscriminatorOptions>(), shape,
                                            classes);
}

}  // namespace lockstep::model
