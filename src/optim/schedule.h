// The schedule of the learning rate. Private, and free of LibTorch.
#pragma once

#include "lockstep/optim/options.h"

namespace lockstep::optim {

// Error(kUsage) for a schedule that cannot be computed.
void check_schedule(const Options& options);

}  // namespace lockstep::optim
