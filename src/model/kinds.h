// Makers of the networks in the table (networks.cpp), as NetworkKind::make says.
#pragma once

#include <functional>
#include <numeric>

#include "lockstep/core/error.h"
#include "lockstep/model/options.h"

namespace lockstep::model {

using Shape = std::vector<std::int64_t>;

inline std::int64_t elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

// Of the data and the network's keys; Error(kUsage).
inline void require(bool fits, const std::string& message, const std::string& hint) {
  if (!fits) throw Error(Code::kUsage, message, hint);
}

std::shared_ptr<Network> make_unet(const Options& options, const Shape& sample_shape,
                                   std::int64_t classes);
std::shared_ptr<Network> make_dit(const Options& options, const Shape& sample_shape,
                                  std::int64_t classes);
std::shared_ptr<Network> make_cnn(const Options& options, const Shape& sample_shape,
                                  std::int64_t classes);
std::shared_ptr<Network> make_mlp_generator(const Options& options, const Shape& sample_shape,
                                            std::int64_t classes);
std::shared_ptr<Network> make_mlp_discriminator(const Options& options, const Shape& sample_shape,
                                                std::int64_t classes);
std::shared_ptr<Network> make_dcgan_generator(const Options& options, const Shape& sample_shape,
                                              std::int64_t classes);
std::shared_ptr<Network> make_dcgan_discriminator(const Options& options, const Shape& sample_shape,
                                                  std::int64_t classes);
std::shared_ptr<Network> make_sngan_generator(const Options& options, const Shape& sample_shape,
                                              std::int64_t classes);
std::shared_ptr<Network> make_sngan_discriminator(const Options& options, const Shape& sample_shape,
                                                  std::int64_t classes);

}  // namespace lockstep::model
