// Generator of SNGAN (Miyato et al. 2018, table 3): a 3x3 convolution makes the picture from the
// finest level.
#include "lockstep/model/sngan_generator.h"

#include "model/conv_generator.h"

namespace lockstep::model {

std::shared_ptr<Network> make_sngan_generator(const Options& options, const Shape& shape,
                                              std::int64_t classes) {
  const auto& own = options.kind.as<SnganGeneratorOptions>();
  const std::int64_t halvings = std::ssize(own.channels) - 1;
  check_halvings(options, own.channels, shape, halvings);
  return std::make_shared<ConvGenerator>(own.latent, halved(shape, halvings), own.channels,
                                         shape[2], classes);
}

}  // namespace lockstep::model
