// Options of the DCGAN generator (Radford et al. 2016).
#pragma once

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct DcganGeneratorOptions {
  // Finest first; the first level has half the picture's sides, each next half of those.
  std::vector<std::int64_t> channels = {32, 64, 64};
  std::int64_t latent = 2;
};
inline void describe(Fields& f, DcganGeneratorOptions& o) {
  describe_channels(f, o.channels);
  describe_latent(f, o.latent);
}

}  // namespace lockstep::model
