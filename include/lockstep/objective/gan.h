// Options of GANs whose discriminator tells real samples from fake ones.
#pragma once

#include "lockstep/objective/adversarial.h"

namespace lockstep::objective {

struct GanOptions : AdversarialOptions {
  double r1 = 0.0;  // weight of the gradient penalty gamma/2 * |dD/dx|^2 (Mescheder et al. 2018)
};
inline void describe(Fields& f, GanOptions& o) {
  f.field("r1", o.r1, 0.0, 1e6, Effect::kBits,
          "weight gamma of R1, gamma/2 times the squared norm of the discriminator's gradient at "
          "real samples; 0: none");
  describe_turns(f, o);
}

}  // namespace lockstep::objective
