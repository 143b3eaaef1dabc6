// Private: the region's macros under the name that the kernels include.
#pragma once

#include "lockstep/numerics/spec/fma_region.h"
