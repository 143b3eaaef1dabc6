// Multilayer perceptron that generates: it normalises over all lanes (batch norm) or not at all.
#include "lockstep/model/mlp_generator.h"

#include "model/conditions.h"
#include "model/kinds.h"

namespace lockstep::model {
namespace {

// z -> (linear, batch norm if asked for, relu) x layers -> linear
class MlpGenerator : public Generator {
 public:
  MlpGenerator(const MlpGeneratorOptions& o, const Shape& shape, std::int64_t classes)
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
    output_ = register_module("output", std::make_shared<Linear>(width, elements(shape)));
    if (classes > 0)
      classes_ = register_module(
          "classes", std::make_shared<Linear>(classes, o.hidden, Weights{.bias = Bias::kNo}));
  }

  std::int64_t latent() const override { return latent_; }

  Tensor forward(Context& context, const Tensor& z, const Tensor& condition,
                 bool trained) override {
    const ops::Scope here = scope();
    Tensor h = z;
    for (std::size_t i = 0; i < hidden_.size(); ++i) {
      h = hidden_[i]->forward(context, h);
      if (i == 0) h = conditioned(context, h, classes_, condition);
      if (!norms_.empty()) h = norms_[i]->forward(context, h, trained);
      h = ops::leaky_relu(h, 0.0f);
    }
    Shape sizes = {z.size(0)};
    sizes.insert(sizes.end(), shape_.begin(), shape_.end());
    return ops::reshape(output_->forward(context, h), sizes);
  }

  double forward_flops() const override {
    double sum = output_->flops() + (classes_ ? classes_->flops() : 0.0);
    for (const auto& layer : hidden_) sum += layer->flops();
    return sum;
  }

 private:
  std::int64_t latent_;
  Shape shape_;
  std::vector<std::shared_ptr<Linear>> hidden_;
  std::vector<std::shared_ptr<BatchNorm>> norms_;  // one a hidden layer, or none
  std::shared_ptr<Linear> output_, classes_;
};

}  // namespace

std::shared_ptr<Network> make_mlp_generator(const Options& options, const Shape& shape,
                                            std::int64_t classes) {
  return std::make_shared<MlpGenerator>(options.kind.as<MlpGeneratorOptions>(), shape, classes);
}

}  // namespace lockstep::model
