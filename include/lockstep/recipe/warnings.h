// What a recipe allows and nobody wants.
#pragma once

#include <string>
#include <vector>

#include "lockstep/recipe/recipe.h"

namespace lockstep::recipe {

// A line each; none for most recipes. For the start of `train` and for --dry-run.
std::vector<std::string> warnings(const Recipe& recipe);

}  // namespace lockstep::recipe
