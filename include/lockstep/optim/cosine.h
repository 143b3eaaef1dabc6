// Options of the cosine schedule (Loshchilov & Hutter 2017): half a period, from the peak to 0.
#pragma once

#include "lockstep/optim/horizon.h"

namespace lockstep::optim {

struct CosineOptions : HorizonOptions {};

}  // namespace lockstep::optim
