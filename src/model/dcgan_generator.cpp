// Generator of DCGAN (Radford et al. 2016): the last doubling makes the picture itself.
#include "lockstep/model/dcgan_generator.h"

#include "model/conv_generator.h"

namespace lockstep::model {

std::shared_ptr<Network> make_dcgan_generator(const Options& options, const Shape& shape,
                                              std::int64_t classes) {
  const auto& own = options.kind.as<DcganGeneratorOptions>();
  const std::int64_t halvings = std::ssize(own.channels);
  check_halvings(options, own.channels, shape, halvings);
  std::vector<std::int64_t> widths = {shape[2]};
  widths.insert(widths.end(), own.channels.begin(), own.channels.end());
  return std::make_shared<ConvGenerator>(own.latent, halved(shape, halvings), widths, std::nullopt,
                                         classes);
}

}  // namespace lockstep::model
