// Options of SGD with momentum (Sutskever et al. 2013, in PyTorch's form).
#pragma once

#include "lockstep/core/fields.h"

namespace lockstep::optim {

struct SgdOptions {
  double momentum = 0.9;
  bool nesterov = false;
};
inline void describe(Fields& f, SgdOptions& o) {
  f.field("momentum", o.momentum, 0.0, 0.999999, Effect::kBits, "decay of the velocity");
  f.field("nesterov", o.nesterov, bits_unless(o.nesterov, false),
          "Nesterov's momentum: the step is the gradient plus momentum times the new velocity");
}

}  // namespace lockstep::optim
