// Discriminator of DCGAN (Radford et al. 2016): 4x4 convolutions of stride 2, batch norm after all
// except the first, or none, leaky ReLU 0.2, then linear. First values N(0, 0.02).
#include "lockstep/model/dcgan_discriminator.h"

#include "model/conditions.h"
#include "model/halving.h"
#include "model/kinds.h"

namespace lockstep::model {
namespace {

constexpr float kSlope = 0.2f;

class DcganDiscriminator : public Discriminator {
 public:
  DcganDiscriminator(const DcganDiscriminatorOptions& o, const Shape& shape, std::int64_t classes) {
    const auto sides = halved(shape, std::ssize(o.channels));
    std::int64_t in = shape[2];
    for (std::size_t i = 0; i < o.channels.size(); ++i) {
      const std::string number = std::to_string(i);
      const std::int64_t out = o.channels[i];
      const bool normed = i > 0 && o.norm == "batch";
      downs_.push_back(register_module(
          "down" + number,
          std::make_shared<Conv2d>(in, out, kHalvingSize, kHalvingStride,
                                   Weights{InitScheme::kDcgan, normed ? Bias::kNo : Bias::kYes})));
      flops_ += downs_.back()->flops() * static_cast<double>(sides[i + 1].positions());
      if (normed)
        norms_.push_back(register_module("norm" + number, std::make_shared<BatchNorm>(out)));
      in = out;
    }
    const std::int64_t row = sides.back().positions() * in;
    output_ =
        register_module("output", std::make_shared<Linear>(row, 1, Weights{InitScheme::kDcgan}));
    flops_ += output_->flops();
    if (classes == 0) return;
    classes_ = register_module(
        "classes", std::make_shared<Linear>(classes, row, Weights{InitScheme::kDcgan, Bias::kNo}));
    flops_ += classes_->flops();
  }

  double forward_flops() const override { return flops_; }

  Tensor forward(Context& context, const Tensor& x, const Tensor& condition,
                 bool trained) override {
    const ops::Scope here = scope();
    Tensor h = x;
    for (std::size_t i = 0; i < downs_.size(); ++i) {
      h = downs_[i]->forward(context, h);
      if (i > 0 && !norms_.empty()) h = norms_[i - 1]->forward(context, h, trained);
      h = ops::leaky_relu(h, kSlope);
    }
    const Tensor rows = ops::reshape(h, {h.size(0), h.numel() / h.size(0)});
    return logits(context, *output_, classes_, rows, condition);
  }

 private:
  std::vector<std::shared_ptr<Conv2d>> downs_;
  std::vector<std::shared_ptr<BatchNorm>> norms_;  // after all but the first, or none
  std::shared_ptr<Linear> output_, classes_;
  double flops_ = 0;
};

}  // namespace

std::shared_ptr<Network> make_dcgan_discriminator(const Options& options, const Shape& shape,
                                                  std::int64_t classes) {
  const auto& own = options.kind.as<DcganDiscriminatorOptions>();
  check_halvings(options, own.channels, shape, std::ssize(own.channels));
  return std::make_shared<DcganDiscriminator>(own, shape, classes);
}

}  // namespace lockstep::model
