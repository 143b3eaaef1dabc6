// The device that the cases are computed on.
#pragma once

#include "lockstep/numerics/device.h"

namespace lockstep::conformance {

numerics::Device& device();

}  // namespace lockstep::conformance
