// Discriminators of strided convolutions:
//   dcgan-discriminator (Radford et al. 2016): 4x4 convolutions of stride 2, batch norm after all
//     except the first, leaky ReLU 0.2, then linear. First values N(0, 0.02).
//   sngan-discriminator (Miyato et al. 2018, table 3): a 3x3 convolution and a 4x4 of stride 2 a
//     level, 3x3 alone on the last, leaky ReLU 0.1, then linear; spectral norm on every layer.
#include <string>

#include "lockstep/model/layers.h"
#include "model/conv_gan.h"
#include "model/kinds.h"

namespace lockstep::model {

namespace {

constexpr float kDcganSlope = 0.2f, kSnganSlope = 0.1f;

// Logits [N] from the coarsest picture, all its positions and channels.
template <class Output>
Tensor logits(Context& context, Output& output, const Tensor& h) {
  const std::int64_t n = h.size(0);
  return ops::reshape(output.forward(context, ops::reshape(h, {n, h.numel() / n})), {n});
}

class DcganDiscriminator : public Discriminator {
 public:
  DcganDiscriminator(const Options& o, const std::vector<std::int64_t>& shape) {
    const auto sides = halved(shape, static_cast<std::int64_t>(o.channels.size()));
    std::int64_t in = shape[2];
    for (std::size_t i = 0; i < o.channels.size(); ++i) {
      const std::string number = std::to_string(i);
      const std::int64_t out = o.channels[i];
      downs_.push_back(register_module(
          "down" + number,
          std::make_shared<Conv2d>(in, out, kHalvingSize, kHalvingStride, Start::kDcgan,
                                   i == 0 ? Bias::kYes : Bias::kNo)));
      flops_ += downs_.back()->flops() * static_cast<double>(sides[i + 1].positions());
      if (i > 0)
        norms_.push_back(register_module("norm" + number, std::make_shared<BatchNorm>(out)));
      in = out;
    }
    output_ = register_module(
        "output", std::make_shared<Linear>(sides.back().positions() * in, 1, Start::kDcgan));
    flops_ += output_->flops();
  }

  double forward_flops() const override { return flops_; }

  Tensor forward(Context& context, const Tensor& x, const Tensor& /*condition*/,
                 bool trained) override {
    const ops::Scope here = scope();
    Tensor h = x;
    for (std::size_t i = 0; i < downs_.size(); ++i) {
      h = downs_[i]->forward(context, h);
      if (i > 0) h = norms_[i - 1]->forward(context, h, trained);
      h = ops::leaky_relu(h, kDcganSlope);
    }
    return logits(context, *output_, h);
  }

 private:
  std::vector<std::shared_ptr<Conv2d>> downs_;
  std::vector<std::shared_ptr<BatchNorm>> norms_;
  std::shared_ptr<Linear> output_;
  double flops_ = 0;
};

class SnganDiscriminator : public Discriminator {
 public:
  SnganDiscriminator(const Options& o, const std::vector<std::int64_t>& shape) {
    const auto sides = halved(shape, static_cast<std::int64_t>(o.channels.size()) - 1);
    std::int64_t in = shape[2];
    for (std::size_t i = 0; i < o.channels.size(); ++i) {
      const std::int64_t out = o.channels[i];
      add("conv" + std::to_string(i), std::make_shared<SpectralConv2d>(in, out, 3), sides[i]);
      if (i + 1 < o.channels.size()) {
        add("down" + std::to_string(i),
            std::make_shared<SpectralConv2d>(out, out, kHalvingSize, kHalvingStride), sides[i + 1]);
      }
      in = out;
    }
    output_ = register_module("output",
                              std::make_shared<SpectralLinear>(sides.back().positions() * in, 1));
    flops_ += output_->flops();
  }

  double forward_flops() const override { return flops_; }

  Tensor forward(Context& context, const Tensor& x, const Tensor& /*condition*/,
                 bool /*trained*/) override {
    const ops::Scope here = scope();
    Tensor h = x;
    for (const auto& conv : convs_) h = ops::leaky_relu(conv->forward(context, h), kSnganSlope);
    return logits(context, *output_, h);
  }

 private:
  void add(const std::string& name, std::shared_ptr<SpectralConv2d> conv, Side out) {
    flops_ += conv->flops() * static_cast<double>(out.positions());
    convs_.push_back(register_module(name, std::move(conv)));
  }

  std::vector<std::shared_ptr<SpectralConv2d>> convs_;
  std::shared_ptr<SpectralLinear> output_;
  double flops_ = 0;
};

}  // namespace

std::shared_ptr<Network> make_dcgan_discriminator(const Options& o,
                                                  const std::vector<std::int64_t>& shape) {
  check_halvings(o, shape, static_cast<std::int64_t>(o.channels.size()));
  return std::make_shared<DcganDiscriminator>(o, shape);
}

std::shared_ptr<Network> make_sngan_discriminator(const Options& o,
                                                  const std::vector<std::int64_t>& shape) {
  check_halvings(o, shape, static_cast<std::int64_t>(o.channels.size()) - 1);
  return std::make_shared<SnganDiscriminator>(o, shape);
}

}  // namespace lockstep::model
