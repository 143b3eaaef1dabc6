// Multilayer perceptron that discriminates: Lipschitz by spectral norm, and twice differentiable,
// for gradient penalties.
#include "lockstep/model/mlp_discriminator.h"

#include "model/conditions.h"
#include "model/kinds.h"

namespace lockstep::model {
namespace {

constexpr float kSlope = 0.2f;

// x -> (spectral linear, leaky relu) x layers -> spectral linear to one logit
class MlpDiscriminator : public Discriminator {
 public:
  MlpDiscriminator(const MlpDiscriminatorOptions& o, const Shape& shape, std::int64_t classes)
      : width_(elements(shape)) {
    std::int64_t width = width_;
    for (std::int64_t i = 0; i < o.layers; ++i) {
      hidden_.push_back(register_module("hidden" + std::to_string(i),
                                        std::make_shared<SpectralLinear>(width, o.hidden)));
      width = o.hidden;
    }
    output_ = register_module("output", std::make_shared<SpectralLinear>(width, 1));
    if (classes > 0)
      classes_ =
          register_module("classes", std::make_shared<SpectralLinear>(classes, width, Bias::kNo));
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
  std::vector<std::shared_ptr<SpectralLinear>> hidden_;
  std::shared_ptr<SpectralLinear> output_, classes_;
};

}  // namespace

std::shared_ptr<Network> make_mlp_discriminator(const Options& options, const Shape& shape,
                                                std::int64_t classes) {
  return std::make_shared<MlpDiscriminator>(options.kind.as<MlpDiscriminatorOptions>(), shape,
                                            classes);
}

}  // namespace lockstep::model
