// Multilayer perceptrons for GANs: the generator normalises over all lanes (batch norm) or not at
// all, the discriminator is Lipschitz by spectral norm and twice differentiable, for gradient
// penalties.
#include <functional>
#include <numeric>
#include <string>

#include "lockstep/model/layers.h"
#include "model/kinds.h"

namespace lockstep::model {

namespace {

std::int64_t product(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// z -> (linear, batch norm if asked for, relu) x layers -> linear
class MlpGenerator : public Generator {
 public:
  MlpGenerator(const Options& o, const std::vector<std::int64_t>& shape)
      : latent_(o.latent), shape_(shape) {
    std::int64_t width = o.latent;
    for (std::int64_t i = 0; i < o.layers; ++i) {
      const std::string number = std::to_string(i);
      hidden_.push_back(
          register_module("hidden" + number, std::make_shared<Linear>(width, o.hidden)));
      if (o.norm == "batch")
        norms_.push_back(register_module("norm" + number, std::make_shared<BatchNorm>(o.hidden)));
      width = o.hidden;
    }
    output_ = register_module("output", std::make_shared<Linear>(width, product(shape)));
  }

  std::int64_t latent() const override { return latent_; }

  Tensor forward(Context& context, const Tensor& z, const Tensor& /*condition*/,
                 bool trained) override {
    const ops::Scope here = scope();
    Tensor h = z;
    for (std::size_t i = 0; i < hidden_.size(); ++i) {
      h = hidden_[i]->forward(context, h);
      if (!norms_.empty()) h = norms_[i]->forward(context, h, trained);
      h = ops::leaky_relu(h, 0.0f);
    }
    std::vector<std::int64_t> sizes = {z.size(0)};
    sizes.insert(sizes.end(), shape_.begin(), shape_.end());
    return ops::reshape(output_->forward(context, h), sizes);
  }

  double forward_flops() const override {
    double sum = output_->flops();
    for (const auto& layer : hidden_) sum += layer->flops();
    return sum;
  }

 private:
  std::int64_t latent_;
  std::vector<std::int64_t> shape_;
  std::vector<std::shared_ptr<Linear>> hidden_;
  std::vector<std::shared_ptr<BatchNorm>> norms_;  // one a hidden layer, or none
  std::shared_ptr<Linear> output_;
};

constexpr float kSlope = 0.2f;

// x -> (spectral linear, leaky relu) x layers -> spectral linear to one logit
class MlpDiscriminator : public Discriminator {
 public:
  MlpDiscriminator(const Options& o, const std::vector<std::int64_t>& shape)
      : width_(product(shape)) {
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

std::shared_ptr<Network> make_mlp_generator(const Options& o,
                                            const std::vector<std::int64_t>& shape) {
  return std::make_shared<MlpGenerator>(o, shape);
}

std::shared_ptr<Network> make_mlp_discriminator(const Options& o,
                                                const std::vector<std::int64_t>& shape) {
  return std::make_shared<MlpDiscriminator>(o, shape);
}

}  // namespace lockstep::model
