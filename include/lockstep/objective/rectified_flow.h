// The process of rectified flow: x_t = (1 - t) x0 + t e, t in [0, 1), and the velocity e - x0 is
// predicted (Liu et al. 2022, with time and velocity reversed, as in Esser et al. 2024).
#pragma once

#include <memory>

#include "lockstep/objective/flow.h"
#include "lockstep/objective/process.h"

namespace lockstep::objective {

// Times are drawn as the options say; networks are told 1000 t, so that embeddings of timesteps
// serve. Error(kUsage) for other times than the two. Bits: arguments.
std::unique_ptr<Process> make_rectified_flow(const FlowOptions& options = {});

}  // namespace lockstep::objective
