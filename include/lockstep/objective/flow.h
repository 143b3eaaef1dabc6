// Options of rectified flow (Liu et al. 2022).
#pragma once

#include "lockstep/objective/diffusion.h"

namespace lockstep::objective {

struct FlowOptions : DiffusionOptions {
  FlowOptions() : DiffusionOptions(samplers_by_time()) {}
};
inline void describe(Fields& f, FlowOptions& o) {
  describe(f, static_cast<DiffusionOptions&>(o));
}

}  // namespace lockstep::objective
