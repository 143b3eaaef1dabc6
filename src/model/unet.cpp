// U-Net for diffusion (Ronneberger et al. 2015; Ho et al. 2020): residual blocks with time
// embedding, attention on chosen levels and in the middle, one skip for every tensor of the way
// down.
#include "lockstep/model/unet.h"

#include <algorithm>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/model/layers.h"
#include "model/kinds.h"
#include "model/time_conditioned.h"

namespace lockstep::model {

namespace {

// h = conv(silu(norm(x))) + embedding; out = skip(x) + conv(dropout(silu(norm(h)))).
class ResidualBlock : public Layer {
 public:
  ResidualBlock(std::int64_t in, std::int64_t out, const UNetOptions& o) {
    norm1_ =
        register_module("norm1", std::make_shared<GroupNorm>(o.groups, in, ops::Activation::kSilu));
    conv1_ = register_module("conv1", std::make_shared<Conv2d>(in, out, 3));
    time_ = register_module("time", std::make_shared<Linear>(o.embedding, out));
    norm2_ = register_module("norm2",
                             std::make_shared<GroupNorm>(o.groups, out, ops::Activation::kSilu));
    dropout_ = register_module("dropout", std::make_shared<Dropout>(o.dropout));
    conv2_ = register_module("conv2",
                             std::make_shared<Conv2d>(out, out, 3, 1, Weights{InitScheme::kZero}));
    if (in != out) skip_ = register_module("skip", std::make_shared<Linear>(in, out));
  }

  // embedding [N, width], its SiLU applied.
  Tensor forward(Context& context, const ops::SideBySide& x, const Tensor& embedding) {
    const ops::Scope here = scope();
    const auto uses = ops::fork(x, 2);
    const Tensor h = conv1_->forward(context, norm1_->forward(context, uses[0]),
                                     {.rows = time_->forward(context, embedding)});
    const Tensor skip = skip_ ? skip_->forward(context, uses[1]) : uses[1].left;
    return conv2_->forward(context, dropout_->forward(context, norm2_->forward(context, h)),
                           {.values = skip});
  }

  double flops(double positions) const {
    return time_->flops() +
           positions * (conv1_->flops() + conv2_->flops() + (skip_ ? skip_->flops() : 0.0));
  }

 private:
  std::shared_ptr<GroupNorm> norm1_, norm2_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<Conv2d> conv1_, conv2_;
  std::shared_ptr<Linear> time_, skip_;
};

// Self-attention over all positions of a picture, with a residual connection.
class Attention : public Layer {
 public:
  Attention(std::int64_t channels, const UNetOptions& o) : heads_(o.heads), channels_(channels) {
    norm_ = register_module(
        "norm", std::make_shared<GroupNorm>(o.groups, channels, ops::Activation::kNone));
    qkv_ = register_module("qkv", std::make_shared<Linear>(channels, 3 * channels));
    out_ = register_module(
        "out", std::make_shared<Linear>(channels, channels, Weights{InitScheme::kZero}));
  }

  Tensor forward(Context& context, const Tensor& x) {
    const ops::Scope here = scope();
    const std::int64_t n = x.size(0), tokens = x.size(1) * x.size(2), c = x.size(3);
    const auto uses = ops::fork(x, 2);
    Tensor h = ops::reshape(norm_->forward(context, uses[0]), {n, tokens, c});
    h = out_->forward(context, ops::attention(qkv_->forward(context, h), heads_));
    return ops::add(uses[1], ops::reshape(h, x.sizes()));
  }

  double flops(double positions) const {
    const double products = 2.0 * 2.0 * positions * positions * static_cast<double>(channels_);
    return positions * (qkv_->flops() + out_->flops()) + products;
  }

 private:
  std::int64_t heads_, channels_;
  std::shared_ptr<GroupNorm> norm_;
  std::shared_ptr<Linear> qkv_, out_;
};

bool has_attention(const UNetOptions& o, std::int64_t level) {
  return std::find(o.attention_levels.begin(), o.attention_levels.end(), level) !=
         o.attention_levels.end();
}

// A residual block, followed by attention on some levels.
class Stage : public Layer {
 public:
  Stage(std::int64_t in, std::int64_t out, bool attention, const UNetOptions& o) {
    residual_ = register_module("residual", std::make_shared<ResidualBlock>(in, out, o));
    if (attention) attention_ = register_module("attention", std::make_shared<Attention>(out, o));
  }
  Tensor forward(Context& context, const ops::SideBySide& x, const Tensor& embedding) {
    const ops::Scope here = scope();
    const Tensor h = residual_->forward(context, x, embedding);
    return attention_ ? attention_->forward(context, h) : h;
  }
  double flops(double positions) const {
    return residual_->flops(positions) + (attention_ ? attention_->flops(positions) : 0.0);
  }

 private:
  std::shared_ptr<ResidualBlock> residual_;
  std::shared_ptr<Attention> attention_;
};

// One resolution: its stages, and the convolution to the next one (none at the end of a way).
class Level : public Layer {
 public:
  void add_stage(std::int64_t in, std::int64_t out, bool attention, const UNetOptions& o) {
    stages.push_back(register_module("block" + std::to_string(stages.size()),
                                     std::make_shared<Stage>(in, out, attention, o)));
  }
  void set_resample(std::int64_t channels, std::int64_t stride) {
    resample = register_module("resample", std::make_shared<Conv2d>(channels, channels, 3, stride));
  }
  std::vector<std::shared_ptr<Stage>> stages;
  std::shared_ptr<Conv2d> resample;
};

class UNet : public TimeConditioned {
 public:
  UNet(const UNetOptions& options, const Shape& shape, std::int64_t classes);
  Tensor forward(Context& context, const Tensor& x, const Tensor& t,
                 const Tensor& condition) override;
  double forward_flops() const override { return flops_; }

 private:
  struct Size {
    std::int64_t h, w;
    double positions() const { return static_cast<double>(h) * static_cast<double>(w); }
  };
  void build_down(std::vector<std::int64_t>& skips, std::vector<Size>& sizes);
  void build_middle(Size size);
  void build_up(std::vector<std::int64_t> skips, const std::vector<Size>& sizes);
  std::shared_ptr<Level> level(const std::string& name);

  UNetOptions options_;
  double flops_ = 0;
  int time_uses_ = 0;  // residual blocks
  std::shared_ptr<Conv2d> input_, output_;
  std::vector<std::shared_ptr<Level>> down_, up_;  // up_: coarsest first
  std::shared_ptr<ResidualBlock> middle1_, middle2_;
  std::shared_ptr<Attention> middle_attention_;
  std::shared_ptr<GroupNorm> output_norm_;
};

UNet::UNet(const UNetOptions& options, const Shape& shape, std::int64_t classes)
    : TimeConditioned(options.channels.front(), options.embedding, classes), options_(options) {
  const std::int64_t finest = options.channels.front();
  input_ = register_module("input", std::make_shared<Conv2d>(shape[2], finest, 3));
  std::vector<std::int64_t> skips = {finest};
  std::vector<Size> sizes = {{shape[0], shape[1]}};
  build_down(skips, sizes);
  build_middle(sizes.back());
  build_up(std::move(skips), sizes);
  output_norm_ = register_module(
      "output_norm", std::make_shared<GroupNorm>(options.groups, finest, ops::Activation::kSilu));
  output_ = register_module(
      "output", std::make_shared<Conv2d>(finest, shape[2], 3, 1, Weights{InitScheme::kZero}));
  flops_ += embedding_flops() + sizes.front().positions() * (input_->flops() + output_->flops());
}

std::shared_ptr<Level> UNet::level(const std::string& name) {
  return register_module(name, std::make_shared<Level>());
}

void UNet::build_down(std::vector<std::int64_t>& skips, std::vector<Size>& sizes) {
  const auto levels = static_cast<std::int64_t>(options_.channels.size());
  std::int64_t c = skips.back();
  for (std::int64_t i = 0; i < levels; ++i) {
    down_.push_back(level("down" + std::to_string(i)));
    Level& at = *down_.back();
    for (std::int64_t b = 0; b < options_.blocks; ++b) {
      at.add_stage(c, options_.channels[static_cast<std::size_t>(i)], has_attention(options_, i),
                   options_);
      c = options_.channels[static_cast<std::size_t>(i)];
      skips.push_back(c);
      flops_ += at.stages.back()->flops(sizes.back().positions());
      ++time_uses_;
    }
    if (i + 1 == levels) break;
    at.set_resample(c, 2);
    skips.push_back(c);
    sizes.push_back({(sizes.back().h + 1) / 2, (sizes.back().w + 1) / 2});
    flops_ += at.resample->flops() * sizes.back().positions();
  }
}

void UNet::build_middle(Size size) {
  const std::int64_t c = options_.channels.back();
  middle1_ = register_module("middle1", std::make_shared<ResidualBlock>(c, c, options_));
  middle_attention_ = register_module("middle_attention", std::make_shared<Attention>(c, options_));
  middle2_ = register_module("middle2", std::make_shared<ResidualBlock>(c, c, options_));
  time_uses_ += 2;
  flops_ += middle1_->flops(size.positions()) + middle_attention_->flops(size.positions()) +
            middle2_->flops(size.positions());
}

void UNet::build_up(std::vector<std::int64_t> skips, const std::vector<Size>& sizes) {
  std::int64_t c = options_.channels.back();
  for (std::int64_t i = static_cast<std::int64_t>(options_.channels.size()); i-- > 0;) {
    up_.push_back(level("up" + std::to_string(i)));
    Level& at = *up_.back();
    for (std::int64_t b = 0; b < options_.blocks + 1; ++b) {
      at.add_stage(c + skips.back(), options_.channels[static_cast<std::size_t>(i)],
                   has_attention(options_, i), options_);
      skips.pop_back();
      c = options_.channels[static_cast<std::size_t>(i)];
      flops_ += at.stages.back()->flops(sizes[static_cast<std::size_t>(i)].positions());
      ++time_uses_;
    }
    if (i == 0) break;
    at.set_resample(c, 1);
    flops_ += at.resample->flops() * sizes[static_cast<std::size_t>(i - 1)].positions();
  }
  LOCKSTEP_ASSERT(skips.empty());
}

Tensor UNet::forward(Context& context, const Tensor& x, const Tensor& t, const Tensor& condition) {
  const ops::Scope here = scope();
  const auto embeddings = ops::fork(embed(context, t, condition), time_uses_);
  auto embedding = embeddings.begin();

  std::vector<Tensor> skips;
  // Every tensor of the way down goes on and is kept for the way up.
  const auto keep = [&skips](const Tensor& h) {
    const auto uses = ops::fork(h, 2);
    skips.push_back(uses[1]);
    return uses[0];
  };
  Tensor h = keep(input_->forward(context, x));
  for (const auto& level : down_) {
    for (const auto& stage : level->stages) h = keep(stage->forward(context, h, *embedding++));
    if (level->resample) h = keep(level->resample->forward(context, h));
  }
  h = middle1_->forward(context, h, *embedding++);
  h = middle_attention_->forward(context, h);
  h = middle2_->forward(context, h, *embedding++);
  for (const auto& level : up_) {
    for (const auto& stage : level->stages) {
      h = stage->forward(context, {h, skips.back()}, *embedding++);
      skips.pop_back();
    }
    if (!level->resample) continue;
    h = ops::upsample_nearest(h, skips.back().size(1), skips.back().size(2));
    h = level->resample->forward(context, h);
  }
  return output_->forward(context, output_norm_->forward(context, h));
}

}  // namespace

std::shared_ptr<Network> make_unet(const Options& options, const Shape& shape,
                                   std::int64_t classes) {
  const auto& o = options.kind.as<UNetOptions>();
  require(shape.size() == 3 && shape[0] >= 8 && shape[1] >= 8,
          "kind: unet needs pictures of 8 x 8 pixels or more", "use another kind for this data");
  require(!o.channels.empty(), "channels: unet needs at least one level", "give e.g. [32, 64, 64]");
  require(o.channels.front() % 2 == 0,
          "channels: the first must be even, it is also the width of "
          "the sinusoidal embedding",
          "use a multiple of 2");
  const auto levels = static_cast<std::int64_t>(o.channels.size());
  for (std::int64_t i = 0; i < levels; ++i) {
    const std::int64_t c = o.channels[static_cast<std::size_t>(i)];
    require(
        c % o.groups == 0,
        "groups: " + std::to_string(o.groups) + " does not divide channels " + std::to_string(c),
        "make every channel count a multiple of groups");
    require(c % o.heads == 0 || !(has_attention(o, i) || i + 1 == levels),
            "heads: " + std::to_string(o.heads) + " does not divide channels " + std::to_string(c),
            "levels with attention, and the last one, need a multiple of heads");
  }
  for (const std::int64_t level : o.attention_levels) {
    require(level < levels,
            "attention_levels: there is no level " + std::to_string(level) + " among " +
                std::to_string(levels),
            "levels count from 0; where the recipe does not say, it is [" +
                std::to_string(UNetOptions{}.attention_levels.front()) + "]");
  }
  return std::make_shared<UNet>(o, shape, classes);
}

}  // namespace lockstep::model
