// Options of the convolutional classifier.
#pragma once

#include "lockstep/model/fields.h"

namespace lockstep::model {

struct CnnOptions {
  // Per resolution level, finest first; each has half the sides of the one before, rounded up.
  std::vector<std::int64_t> channels = {32, 64, 64};
  std::int64_t groups = 8;     // of group normalisation; divides every channel count
  std::int64_t features = 64;  // width of the layer before the last
};
inline void describe(Fields& f, CnnOptions& o) {
  describe_channels(f, o.channels);
  f.field("groups", o.groups, 1, kWidest, Effect::kBits, "groups of group normalisation");
  f.field("features", o.features, 1, kWidest, Effect::kBits,
          "width of the layer before the last, whose activations are the features");
}

}  // namespace lockstep::model
