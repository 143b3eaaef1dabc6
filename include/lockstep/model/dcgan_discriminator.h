// Options of the DCGAN discriminator (Radford et al. 2016).
#pragma once

#include <string>

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct DcganDiscriminatorOptions {
  // Finest first; the first level has half the picture's sides, each next half of those.
  std::vector<std::int64_t> channels = {32, 64, 64};
  std::string norm = "batch";  // none: no layer mixes samples
};
inline void describe(Fields& f, DcganDiscriminatorOptions& o) {
  describe_channels(f, o.channels);
  f.choice("norm", o.norm, {"batch", "none"}, bits_unless(o.norm, "batch"),
           "normalisation of all convolutions but the first: over the batch, or none, as with a "
           "gradient penalty");
}

}  // namespace lockstep::model
