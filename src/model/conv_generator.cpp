#include "model/conv_generator.h"

#include "model/conditions.h"

namespace lockstep::model {

ConvGenerator::ConvGenerator(std::int64_t latent, std::vector<Side> sides,
                             std::vector<std::int64_t> widths,
                             std::optional<std::int64_t> final_conv, std::int64_t classes)
    : latent_(latent), sides_(std::move(sides)), widths_(std::move(widths)) {
  const std::int64_t projected = sides_.back().positions() * widths_.back();
  project_ = register_module(
      "project",
      std::make_shared<Linear>(latent, projected, Weights{InitScheme::kDcgan, Bias::kNo}));
  flops_ = project_->flops();
  norms_.push_back(register_module("project_norm", std::make_shared<BatchNorm>(widths_.back())));
  for (std::size_t i = widths_.size() - 1; i-- > 0;) {
    const bool last = i == 0 && !final_conv;
    const std::string number = std::to_string(i);
    ups_.push_back(register_module(
        "up" + number, std::make_shared<ConvTranspose2d>(
                           widths_[i + 1], widths_[i], kHalvingSize, kHalvingStride,
                           Weights{InitScheme::kDcgan, last ? Bias::kYes : Bias::kNo})));
    flops_ += ups_.back()->flops() * static_cast<double>(sides_[i + 1].positions());
    if (last) break;
    norms_.push_back(register_module("norm" + number, std::make_shared<BatchNorm>(widths_[i])));
  }
  if (final_conv) {
    output_ = register_module("output", std::make_shared<Conv2d>(widths_.front(), *final_conv, 3, 1,
                                                                 Weights{InitScheme::kDcgan}));
    flops_ += output_->flops() * static_cast<double>(sides_.front().positions());
  }
  if (classes > 0) {
    classes_ = register_module(
        "classes",
        std::make_shared<Linear>(classes, projected, Weights{InitScheme::kDcgan, Bias::kNo}));
    flops_ += classes_->flops();
  }
}

Tensor ConvGenerator::forward(Context& context, const Tensor& z, const Tensor& condition,
                              bool trained) {
  const ops::Scope here = scope();
  const Side coarsest = sides_.back();
  Tensor h = conditioned(context, project_->forward(context, z), classes_, condition);
  h = ops::reshape(h, {z.size(0), coarsest.h, coarsest.w, widths_.back()});
  h = normed(context, 0, h, trained);
  for (std::size_t i = 0; i < ups_.size(); ++i) {
    const Side to = sides_[sides_.size() - 2 - i];
    h = ups_[i]->forward(context, h, to.h, to.w);
    if (i + 1 < norms_.size()) h = normed(context, i + 1, h, trained);
  }
  return ops::tanh(output_ ? output_->forward(context, h) : h);
}

Tensor ConvGenerator::normed(Context& context, std::size_t i, const Tensor& h, bool trained) {
  return ops::leaky_relu(norms_[i]->forward(context, h, trained), 0.0f);
}

}  // namespace lockstep::model
