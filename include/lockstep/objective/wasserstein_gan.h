// Options of Wasserstein GANs with a gradient penalty (Gulrajani et al. 2017).
#pragma once

#include "lockstep/objective/adversarial.h"

namespace lockstep::objective {

struct WassersteinGanOptions : AdversarialOptions {
  double gp = 10.0;  // lambda of the penalty lambda (|dD/dx| - 1)^2 between real and fake samples
};
inline void describe(Fields& f, WassersteinGanOptions& o) {
  f.field(
      "gp", o.gp, 0.0, 1e6, Effect::kBits,
      "weight lambda of the gradient penalty, lambda times (norm of the critic's gradient - 1)^2 "
      "at points between real and fake samples; 0: none");
  describe_turns(f, o);
}

}  // namespace lockstep::objective
