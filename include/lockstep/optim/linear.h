// Options of the linear schedule: from the peak to 0.
#pragma once

#include "lockstep/optim/horizon.h"

namespace lockstep::optim {

struct LinearOptions : HorizonOptions {};

}  // namespace lockstep::optim
