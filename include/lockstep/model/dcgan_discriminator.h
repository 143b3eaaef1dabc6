// Options of the DCGAN discriminator (Radford et al. 2016).
#pragma once

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct DcganDiscriminatorOptions {
  // Finest first; the first level has half the picture's sides, each next half of those.
  std::vector<std::int64_t> channels = {32, 64, 64};
};
inline void describe(Fields& f, DcganDiscriminatorOptions& o) {
  describe_channels(f, o.channels);
}

}  // namespace lockstep::model
