// The schedule of the learning rate. Free of LibTorch.
#pragma once

#include "lockstep/optim/options.h"

namespace lockstep::optim {

// Error(kUsage) for a schedule that cannot be computed.
void check_schedule(const Options& options);

// The learning rate of update t (counted from 1), in double with host functions.
double learning_rate(const Options& options, std::int64_t t);

}  // namespace lockstep::optim
