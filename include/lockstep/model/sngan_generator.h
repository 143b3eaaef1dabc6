// Options of the SNGAN generator (Miyato et al. 2018).
#pragma once

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct SnganGeneratorOptions {
  // Finest first; the first level has the picture's sides, each next half of those.
  std::vector<std::int64_t> channels = {32, 64, 64};
  std::int64_t latent = 2;
};
inline void describe(Fields& f, SnganGeneratorOptions& o) {
  describe_channels(f, o.channels);
  describe_latent(f, o.latent);
}

}  // namespace lockstep::model
