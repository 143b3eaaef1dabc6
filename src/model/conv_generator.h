// Generator of transposed convolutions: it projects the latent to a coarse picture and doubles its
// sides, batch norm (over all lanes) and ReLU after every layer except the last, tanh at the end.
// dcgan-generator and sngan-generator differ in what the last layer is.
#pragma once

#include <optional>

#include "lockstep/model/layers.h"
#include "model/halving.h"
#include "model/kinds.h"

namespace lockstep::model {

class ConvGenerator : public Generator {
 public:
  // sides: finest first; widths[i]: channels at sides[i], the picture's own at sides[0] where the
  // last doubling makes it. `final_conv`: channels of the picture, made by a convolution.
  ConvGenerator(std::int64_t latent, std::vector<Side> sides, std::vector<std::int64_t> widths,
                std::optional<std::int64_t> final_conv, std::int64_t classes);

  std::int64_t latent() const override { return latent_; }
  double forward_flops() const override { return flops_; }
  Tensor forward(Context& context, const Tensor& z, const Tensor& condition, bool trained) override;

 private:
  Tensor normed(Context& context, std::size_t i, const Tensor& h, bool trained);

  std::int64_t latent_;
  std::vector<Side> sides_;
  std::vector<std::int64_t> widths_;
  std::shared_ptr<Linear> project_, classes_;
  std::vector<std::shared_ptr<BatchNorm>> norms_;      // coarsest first
  std::vector<std::shared_ptr<ConvTranspose2d>> ups_;  // coarsest first
  std::shared_ptr<Conv2d> output_;
  double flops_ = 0;
};

}  // namespace lockstep::model
