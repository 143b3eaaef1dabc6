// Options of Lion (Chen et al. 2023).
#pragma once

#include "lockstep/core/fields.h"

namespace lockstep::optim {

struct LionOptions {
  double beta1 = 0.9, beta2 = 0.99;
};
inline void describe(Fields& f, LionOptions& o) {
  f.field("beta1", o.beta1, 0.0, 0.999999, Effect::kBits,
          "share of the moment in the direction of an update");
  f.field("beta2", o.beta2, 0.0, 0.9999999, Effect::kBits, "decay of the moment");
}

}  // namespace lockstep::optim
