// Discriminator of SNGAN (Miyato et al. 2018, table 3): a 3x3 convolution and a 4x4 of stride 2 a
// level, 3x3 alone on the last, leaky ReLU 0.1, then linear; spectral norm on every
// layer, or none.
#include "lockstep/model/sngan_discriminator.h"

#include "model/conditions.h"
#include "model/halving.h"
#include "model/kinds.h"
#include "model/spectral.h"

namespace lockstep::model {
namespace {

constexpr float kSlope = 0.1f;

class SnganDiscriminator : public Discriminator {
 public:
  SnganDiscriminator(const SnganDiscriminatorOptions& o, const Shape& shape, std::int64_t classes) {
    const auto sides = halved(shape, std::ssize(o.channels) - 1);
    const Weights weights{.spectral = spectral(o.norm)};
    std::int64_t in = shape[2];
    for (std::size_t i = 0; i < o.channels.size(); ++i) {
      const std::int64_t out = o.channels[i];
      add("conv" + std::to_string(i), std::make_shared<Conv2d>(in, out, 3, 1, weights), sides[i]);
      if (i + 1 < o.channels.size()) {
        add("down" + std::to_string(i),
            std::make_shared<Conv2d>(out, out, kHalvingSize, kHalvingStride, weights),
            sides[i + 1]);
      }
      in = out;
    }
    const std::int64_t row = sides.back().positions() * in;
    output_ = register_module("output", std::make_shared<Linear>(row, 1, weights));
    flops_ += output_->flops();
    if (classes == 0) return;
    classes_ =
        register_module("classes", std::make_shared<Linear>(classes, row, without_bias(weights)));
    flops_ += classes_->flops();
  }

  double forward_flops() const override { return flops_; }

  Tensor forward(Context& context, const Tensor& x, const Tensor& condition,
                 bool /*trained*/) override {
    const ops::Scope here = scope();
    Tensor h = x;
    for (const auto& conv : convs_) h = ops::leaky_relu(conv->forward(context, h), kSlope);
    const Tensor rows = ops::reshape(h, {h.size(0), h.numel() / h.size(0)});
    return logits(context, *output_, classes_, rows, condition);
  }

 private:
  void add(const std::string& name, std::shared_ptr<Conv2d> conv, Side out) {
    flops_ += conv->flops() * static_cast<double>(out.positions());
    convs_.push_back(register_module(name, std::move(conv)));
  }

  std::vector<std::shared_ptr<Conv2d>> convs_;
  std::shared_ptr<Linear> output_, classes_;
  double flops_ = 0;
};

}  // namespace

std::shared_ptr<Network> make_sngan_discriminator(const Options& options, const Shape& shape,
                                                  std::int64_t classes) {
  const auto& own = options.kind.as<SnganDiscriminatorOptions>();
  check_halvings(options, own.channels, shape, std::ssize(own.channels) - 1);
  return std::make_shared<SnganDiscriminator>(own, shape, classes);
}

}  // namespace lockstep::model
