#pragma once

#include "lockstep/recipe/recipe.h"

namespace lockstep::cli {

// Prints the resolved recipe, its id, parameters, memory, FLOPs a step and warnings;
// trains nothing.
void dry_run(const recipe::Recipe& recipe, bool json);

}  // namespace lockstep::cli
