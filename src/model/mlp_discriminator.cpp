// Multilayer perceptron that discriminates: Lipschitz by spectral norm, and twice differentiable,
// for gradient penalties.
#include "lockstep/model/mlp_discriminator.h"

#include "lockstep/model/layers.h"
#include "model/kinds.h"

namespace lockstep::model {
namespace {

constexpr float kSlope = 0.2f;

// x -> (spectral linear, leaky relu) x layers -> spectral linear to one logit
class MlpDiscriminator : public Discriminator {
 public:
  MlpDiscriminator(const MlpDiscriminatorOptions& o, const Shape& shape) : width_(elements(shape)) {
    std::int64_t width = width_;
    for (std::int64_t i = 0; i < o.layers; ++i) {
      hidden_.push_back(register_module("hidden" + std::to_string(i),
                                        std::make_shared<SpectralLinear>(width, o.hidden)));
      width = o.hidden;
    }
    output_ = register_module("output", std::make_shared<SpectralLinear>(width, 1));
  }

  Tensor forward(Context& context, const Tensor& x, const Tensor& /*condition*/,
                 bool /*trained*/) override {
    const ops::Scope here = scope();
    Tensor h = ops::reshape(x, {x.size(0), width_});
    for (const auto& layer : hidden_) h = ops::leaky_relu(layer->forward(context, h), kSlope);
    return ops::reshape(output_->forward(context, h), {x.size(0)});
  }

  double forward_flops() const override {
    double sum = output_->flops();
    for (const auto& layer : hidden_) sum += layer->flops();
    return sum;
  }

 private:
  std::int64_t width_;
  std::vector<std::shared_ptr<SpectralLinear>> hidden_;
  std::shared_ptr<SpectralLinear> output_;
};

}  // namespace

std::shared_ptr<Network> make_mlp_discriminator(const Options& options, const Shape& shape,
                                                std::int64_t /*classes*/) {
  return std::make_shared<MlpDiscriminator>(options.kind.as<MlpDiscriminatorOptions>(), shape);
}

}  // namespace lockstep::model
