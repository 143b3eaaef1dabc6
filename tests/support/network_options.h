// Options of networks for tests, in a line.
#pragma once

#include "lockstep/core/error.h"
#include "lockstep/model/cnn.h"
#include "lockstep/model/dcgan_discriminator.h"
#include "lockstep/model/dcgan_generator.h"
#include "lockstep/model/dit.h"
#include "lockstep/model/mlp_discriminator.h"
#include "lockstep/model/mlp_generator.h"
#include "lockstep/model/options.h"
#include "lockstep/model/sngan_discriminator.h"
#include "lockstep/model/sngan_generator.h"
#include "lockstep/model/unet.h"

namespace lockstep::testing {

template <class Own>
model::Options network_of(const std::string& kind, Own own) {
  model::Options options;
  options.kind = kind;
  options.kind.as<Own>() = std::move(own);
  return options;
}

inline model::Options unet(model::UNetOptions own) {
  return network_of("unet", std::move(own));
}

inline model::Options dit(model::DitOptions own) {
  return network_of("dit", std::move(own));
}

inline model::Options cnn(model::CnnOptions own) {
  return network_of("cnn", std::move(own));
}

inline model::Options mlp(const std::string& kind, std::int64_t hidden, std::int64_t layers,
                          std::int64_t latent) {
  if (kind == "mlp-discriminator")
    return network_of(kind, model::MlpDiscriminatorOptions{.hidden = hidden, .layers = layers});
  LOCKSTEP_ASSERT(kind == "mlp-generator", kind);
  return network_of(
      kind, model::MlpGeneratorOptions{.hidden = hidden, .layers = layers, .latent = latent});
}

inline model::Options convolutional(const std::string& kind,
                                    const std::vector<std::int64_t>& channels,
                                    std::int64_t latent) {
  if (kind == "dcgan-generator")
    return network_of(kind, model::DcganGeneratorOptions{.channels = channels, .latent = latent});
  if (kind == "sngan-generator")
    return network_of(kind, model::SnganGeneratorOptions{.channels = channels, .latent = latent});
  if (kind == "dcgan-discriminator")
    return network_of(kind, model::DcganDiscriminatorOptions{.channels = channels});
  LOCKSTEP_ASSERT(kind == "sngan-discriminator", kind);
  return network_of(kind, model::SnganDiscriminatorOptions{.channels = channels});
}

}  // namespace lockstep::testing
