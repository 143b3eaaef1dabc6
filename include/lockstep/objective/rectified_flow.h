// The process of rectified flow: x_t = (1 - t) x0 + t e, t in [0, 1), and the velocity e - x0 is
// predicted (Liu et al. 2022).
#pragma once

#include <memory>

#include "lockstep/objective/process.h"

namespace lockstep::objective {

// Times are drawn uniformly; networks are told 1000 t, so that embeddings of timesteps serve. Bits:
// none of its own.
std::unique_ptr<Process> make_rectified_flow();

}  // namespace lockstep::objective
