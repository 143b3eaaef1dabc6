// Convolutional classifier: 3x3 convolutions with group norm (Wu & He 2018) and SiLU, from the
// second on of stride 2, then a hidden layer, the features, and a linear layer. No sample sees
// another one.
#include "lockstep/model/cnn.h"

#include "lockstep/core/error.h"
#include "lockstep/model/layers.h"
#include "model/kinds.h"

namespace lockstep::model {
namespace {

constexpr std::int64_t kSize = 3;

class Cnn : public Classifier {
 public:
  Cnn(const CnnOptions& o, const Shape& shape, std::int64_t classes) : width_(o.features) {
    std::int64_t height = shape[0], width = shape[1], in = shape[2];
    for (std::size_t i = 0; i < o.channels.size(); ++i) {
      const std::string number = std::to_string(i);
      const std::int64_t stride = i == 0 ? 1 : 2, out = o.channels[i];
      height = (height - 1) / stride + 1;
      width = (width - 1) / stride + 1;
      convs_.push_back(
          register_module("conv" + number, std::make_shared<Conv2d>(in, out, kSize, stride)));
      norms_.push_back(register_module(
          "norm" + number, std::make_shared<GroupNorm>(o.groups, out, ops::Activation::kSilu)));
      flops_ += convs_.back()->flops() * static_cast<double>(height * width);
      in = out;
    }
    features_ =
        register_module("features", std::make_shared<Linear>(height * width * in, o.features));
    output_ = register_module("output", std::make_shared<Linear>(o.features, classes));
    flops_ += features_->flops() + output_->flops();
  }

  double forward_flops() const override { return flops_; }
  std::int64_t width() const override { return width_; }

  Tensor features(Context& context, const Tensor& x) override {
    const ops::Scope here = scope();
    Tensor h = x;
    for (std::size_t i = 0; i < convs_.size(); ++i)
      h = norms_[i]->forward(context, convs_[i]->forward(context, h));
    const Tensor rows = ops::reshape(h, {h.size(0), h.numel() / h.size(0)});
    return ops::silu(features_->forward(context, rows));
  }

  Tensor forward(Context& context, const Tensor& x) override {
    const ops::Scope here = scope();
    return output_->forward(context, features(context, x));
  }

 private:
  std::int64_t width_;
  std::vector<std::shared_ptr<Conv2d>> convs_;
  std::vector<std::shared_ptr<GroupNorm>> norms_;
  std::shared_ptr<Linear> features_, output_;
  double flops_ = 0;
};

}  // namespace

std::shared_ptr<Network> make_cnn(const Options& options, const Shape& shape,
                                  std::int64_t classes) {
  const auto& o = options.kind.as<CnnOptions>();
  require(shape.size() == 3, "kind: cnn needs pictures", "use other data");
  require(classes >= 2,
          "kind: cnn tells classes apart, and data.classes is " + std::to_string(classes),
          "set data.classes to 2 or more");
  require(!o.channels.empty(), "channels: cnn needs at least one level", "give e.g. [32, 64]");
  for (const std::int64_t c : o.channels)
    require(
        c % o.groups == 0,
        "groups: " + std::to_string(o.groups) + " does not divide channels " + std::to_string(c),
        "make every channel count a multiple of groups");
  return std::make_shared<Cnn>(o, shape, classes);
}

}  // namespace lockstep::model
