#pragma once

#include "lockstep/recipe/recipe.h"

namespace lockstep::cli {

// Prints the resolved recipe, its id, parameters, memory and FLOPs a step; trains nothing.
void dry_run(const recipe::Recipe& recipe, bool json);

}  // namespace lockstep::cli
