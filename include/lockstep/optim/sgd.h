// Options of SGD with momentum (Sutskever et al. 2013, in PyTorch's form).
#pragma once

#include "lockstep/core/fields.h"

namespace lockstep::optim {

struct SgdOptions {
  double momentum = 0.9;
};
inline void describe(Fields& f, SgdOptions& o) {
  f.field("momentum", o.momentum, 0.0, 0.999999, Effect::kBits, "decay of the velocity");
}

}  // namespace lockstep::optim
