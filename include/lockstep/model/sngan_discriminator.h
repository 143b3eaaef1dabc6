// Options of the SNGAN discriminator (Miyato et al. 2018).
#pragma once

#include <string>

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct SnganDiscriminatorOptions {
  // Finest first; the first level has the picture's sides, each next half of those.
  std::vector<std::int64_t> channels = {32, 64, 64};
  std::string norm = "spectral";
};
inline void describe(Fields& f, SnganDiscriminatorOptions& o) {
  describe_channels(f, o.channels);
  describe_spectral(f, o.norm);
}

}  // namespace lockstep::model
