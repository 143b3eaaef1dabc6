#include "lockstep/model/options.h"

namespace lockstep::model {

namespace {

constexpr std::int64_t kWidest = 65536;

void describe_unet(Fields& f, Options& o) {
  f.field("channels", o.channels, 1, kWidest, Effect::kBits,
          "channels of each resolution level, finest first; multiples of groups");
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
  f.choice("kind", o.kind, {"unet", "mlp-generator", "mlp-discriminator"}, Effect::kBits,
           "architecture of the network");
  if (o.kind == "unet") describe_unet(f, o);
  if (o.kind == "mlp-generator" || o.kind == "mlp-discriminator") describe_mlp(f, o);
  if (o.kind == "mlp-generator") {
    f.field("latent", o.latent, 1, kWidest, Effect::kBits, "width of the latent input");
  }
}

}  // namespace lockstep::model
