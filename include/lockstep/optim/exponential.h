// Options of the exponential schedule: every update by the same factor.
#pragma once

#include "lockstep/optim/interval.h"

namespace lockstep::optim {

struct ExponentialOptions : IntervalOptions {};

}  // namespace lockstep::optim
