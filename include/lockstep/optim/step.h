// Options of the step schedule: constant for an interval, then times the factor, and so on.
#pragma once

#include "lockstep/optim/interval.h"

namespace lockstep::optim {

struct StepOptions : IntervalOptions {};

}  // namespace lockstep::optim
