// Generators of transposed convolutions. Both project the latent to a coarse picture and double its
// sides, batch norm (over all lanes) and ReLU after every layer except the last, tanh at the end:
//   dcgan-generator (Radford et al. 2016): the last doubling makes the picture itself;
//   sngan-generator (Miyato et al. 2018, table 3): a 3x3 convolution makes it from the finest
//   level.
#include <optional>
#include <string>

#include "lockstep/model/layers.h"
#include "model/conv_gan.h"
#include "model/kinds.h"

namespace lockstep::model {

namespace {

class ConvGenerator : public Generator {
 public:
  // sides: finest first; widths[i]: channels at sides[i], the picture's own at sides[0] where the
  // last doubling makes it. `final_conv`: channels of the picture, made by a convolution.
  ConvGenerator(const Options& o, std::vector<Side> sides, std::vector<std::int64_t> widths,
                std::optional<std::int64_t> final_conv)
      : latent_(o.latent), sides_(std::move(sides)), widths_(std::move(widths)) {
    const Side coarsest = sides_.back();
    project_ = register_module(
        "project", std::make_shared<Linear>(o.latent, coarsest.positions() * widths_.back(),
                                            Start::kDcgan, Bias::kNo));
    flops_ = project_->flops();
    norms_.push_back(register_module("project_norm", std::make_shared<BatchNorm>(widths_.back())));
    for (std::size_t i = widths_.size() - 1; i-- > 0;) {
      const bool last = i == 0 && !final_conv;
      const std::string number = std::to_string(i);
      ups_.push_back(register_module(
          "up" + number, std::make_shared<ConvTranspose2d>(widths_[i + 1], widths_[i], kHalvingSize,
                                                           kHalvingStride, Start::kDcgan,
                                                           last ? Bias::kYes : Bias::kNo)));
      flops_ += ups_.back()->flops() * static_cast<double>(sides_[i + 1].positions());
      if (last) break;
      norms_.push_back(register_module("norm" + number, std::make_shared<BatchNorm>(widths_[i])));
    }
    if (!final_conv) return;
    output_ = register_module(
        "output", std::make_shared<Conv2d>(widths_.front(), *final_conv, 3, 1, Start::kDcgan));
    flops_ += output_->flops() * static_cast<double>(sides_.front().positions());
  }

  std::int64_t latent() const override { return latent_; }
  double forward_flops() const override { return flops_; }

  Tensor forward(Context& context, const Tensor& z, const Tensor& /*condition*/,
                 bool trained) override {
    const ops::Scope here = scope();
    const Side coarsest = sides_.back();
    Tensor h = ops::reshape(project_->forward(context, z),
                            {z.size(0), coarsest.h, coarsest.w, widths_.back()});
    h = normed(context, 0, h, trained);
    for (std::size_t i = 0; i < ups_.size(); ++i) {
      const Side to = sides_[sides_.size() - 2 - i];
      h = ups_[i]->forward(context, h, to.h, to.w);
      if (i + 1 < norms_.size()) h = normed(context, i + 1, h, trained);
    }
    return ops::tanh(output_ ? output_->forward(context, h) : h);
  }

 private:
  Tensor normed(Context& context, std::size_t i, const Tensor& h, bool trained) {
    return ops::leaky_relu(norms_[i]->forward(context, h, trained), 0.0f);
  }

  std::int64_t latent_;
  std::vector<Side> sides_;
  std::vector<std::int64_t> widths_;
  std::shared_ptr<Linear> project_;
  std::vector<std::shared_ptr<BatchNorm>> norms_;      // coarsest first
  std::vector<std::shared_ptr<ConvTranspose2d>> ups_;  // coarsest first
  std::shared_ptr<Conv2d> output_;
  double flops_ = 0;
};

}  // namespace

std::shared_ptr<Network> make_dcgan_generator(const Options& o,
                                              const std::vector<std::int64_t>& shape) {
  const auto halvings = static_cast<std::int64_t>(o.channels.size());
  check_halvings(o, shape, halvings);
  std::vector<std::int64_t> widths = {shape[2]};
  widths.insert(widths.end(), o.channels.begin(), o.channels.end());
  return std::make_shared<ConvGenerator>(o, halved(shape, halvings), widths, std::nullopt);
}

std::shared_ptr<Network> make_sngan_generator(const Options& o,
                                              const std::vector<std::int64_t>& shape) {
  const std::int64_t halvings = static_cast<std::int64_t>(o.channels.size()) - 1;
  check_halvings(o, shape, halvings);
  return std::make_shared<ConvGenerator>(o, halved(shape, halvings), o.channels, shape[2]);
}

}  // namespace lockstep::model
