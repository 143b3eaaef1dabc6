#include "lockstep/model/options.h"

namespace lockstep::model {

namespace {

constexpr std::int64_t kWidest = 65536;

// The U-Net's and the convolutional GANs'.
void describe_channels(Fields& f, Options& o) {
  f.field("channels", o.channels, 1, kWidest, Effect::kBits,
          "channels of each resolution level, finest first; unet: multiples of groups");
}

void describe_unet(Fields& f, Options& o) {
  describe_channels(f, o);
  f.field("blocks", o.blocks, 1, 64, Effect::kBits,
          "residual blocks a level on the way down; one more on the way up");
  f.field("attention_levels", o.attention_levels, 0, 63, Effect::kBits,
          "levels with attention, counted from 0");
  f.field("heads", o.heads, 1, kWidest, Effect::kBits, "attention heads; divides the channels");
  f.field("groups", o.groups, 1, kWidest, Effect::kBits, "groups of group normalisation");
  f.field("embedding", o.embedding, 1, kWidest, Effect::kBits, "width of the time embedding");
}

void describe_mlp(Fields& f, Options& o) {
  f.field("hidden", o.hidden, 1, kWidest, Effect::kBits, "width of hidden layers");
  f.field("layers", o.layers, 1, 64, Effect::kBits, "hidden layers");
}

}  // namespace

void describe(Fields& f, Options& o) {
  f.choice("kind", o.kind,
           {"unet", "mlp-generator", "mlp-discriminator", "dcgan-generator", "dcgan-discriminator",
            "sngan-generator", "sngan-discriminator"},
           Effect::kBits, "architecture of the network");
  const auto is = [&o](const char* beginning) { return o.kind.rfind(beginning, 0) == 0; };
  if (is("unet")) describe_unet(f, o);
  if (is("mlp-")) describe_mlp(f, o);
  if (is("dcgan-") || is("sngan-")) describe_channels(f, o);
  if (o.kind.ends_with("-generator")) {
    f.field("latent", o.latent, 1, kWidest, Effect::kBits, "width of the latent input");
  }
  if (is("mlp-generator")) {
    f.choice("norm", o.norm, {"batch", "none"}, bits_unless(o.norm, "batch"),
             "normalisation of hidden layers: over the batch, or none");
  }
}

}  // namespace lockstep::model
