// Options of AdamW (Kingma & Ba 2015; Loshchilov & Hutter 2019).
#pragma once

#include "lockstep/core/fields.h"

namespace lockstep::optim {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
};
inline void describe(Fields& f, AdamWOptions& o) {
  f.field("beta1", o.beta1, 0.0, 0.999999, Effect::kBits, "decay of the first moment");
  f.field("beta2", o.beta2, 0.0, 0.9999999, Effect::kBits, "decay of the second moment");
  f.field("eps", o.eps, 1e-30, 1.0, Effect::kBits, "added to the root of the second moment");
}

}  // namespace lockstep::optim
