// Which arithmetic a recipe says.
#pragma once

#include "lockstep/ops/numerics.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::train {

ops::Precision precision_of(const recipe::Recipe& recipe);

// For ops that see `samples` samples at a time: a lane's in a step, one in sampling.
ops::Numerics numerics_of(const recipe::Recipe& recipe, std::int64_t samples);

}  // namespace lockstep::train
