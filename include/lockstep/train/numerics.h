// Which arithmetic a recipe says.
#pragma once

#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::train {

ops::Precision precision_of(const recipe::Recipe& recipe);

// For ops that see `samples` samples at a time: a lane's in a step, one in sampling.
ops::Numerics numerics_of(const recipe::Recipe& recipe, std::int64_t samples);

// This machine, with hashes of the kernels that the recipe's numbers come from. For native ones
// first of all: they set variables of this process, which must have no other threads then.
fingerprint::Fingerprint fingerprint_for(const recipe::Recipe& recipe);

}  // namespace lockstep::train
