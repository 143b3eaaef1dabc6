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

using Maker = std::shared_ptr<Network>(const Options& options, const Shape& sample_shape,
                                       std::int64_t classes);
Maker make_unet, make_dit, make_cnn;
Maker make_mlp_generator, make_mlp_discriminator;
Maker make_dcgan_generator, make_dcgan_discriminator;
Maker make_sngan_generator, make_sngan_discriminator;

}  // namespace lockstep::model
