// Keys that several kinds of networks have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/fields.h"

namespace lockstep::model {

inline constexpr std::int64_t kWidest = 65536;  // layer

// Of networks that halve the sides of pictures from level to level.
inline void describe_channels(Fields& f, std::vector<std::int64_t>& channels) {
  f.field("channels", channels, 1, kWidest, Effect::kBits,
          "channels of each resolution level, finest first; of unet and cnn multiples of groups");
}

// Of multilayer perceptrons.
inline void describe_hidden(Fields& f, std::int64_t& hidden, std::int64_t& layers) {
  f.field("hidden", hidden, 1, kWidest, Effect::kBits, "width of hidden layers");
  f.field("layers", layers, 1, 64, Effect::kBits, "hidden layers");
}

// Of discriminators with spectral norm, which "none" leaves out: a gradient penalty bounds slopes,
// too.
inline void describe_spectral(Fields& f, std::string& norm) {
  f.choice("norm", norm, {"spectral", "none"}, bits_unless(norm, "spectral"),
           "normalisation of all weights: spectral norm, or none, as with a gradient penalty");
}

// Of generators.
inline void describe_latent(Fields& f, std::int64_t& latent) {
  f.field("latent", latent, 1, kWidest, Effect::kBits, "width of the latent input");
}

}  // namespace lockstep::model
