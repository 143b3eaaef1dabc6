// Makers of the networks in the table of network.cpp. Each checks its options: Error(kUsage).
#pragma once

#include "lockstep/model/network.h"

namespace lockstep::model {

std::shared_ptr<Network> make_unet(const Options& options,
                                   const std::vector<std::int64_t>& sample_shape);
std::shared_ptr<Network> make_mlp_generator(const Options& options,
                                            const std::vector<std::int64_t>& sample_shape);
std::shared_ptr<Network> make_mlp_discriminator(const Options& options,
                                                const std::vector<std::int64_t>& sample_shape);
std::shared_ptr<Network> make_dcgan_generator(const Options& options,
                                              const std::vector<std::int64_t>& sample_shape);
std::shared_ptr<Network> make_dcgan_discriminator(const Options& options,
                                                  const std::vector<std::int64_t>& sample_shape);
std::shared_ptr<Network> make_sngan_generator(const Options& options,
                                              const std::vector<std::int64_t>& sample_shape);
std::shared_ptr<Network> make_sngan_discriminator(const Options& options,
                                                  const std::vector<std::int64_t>& sample_shape);

}  // namespace lockstep::model
