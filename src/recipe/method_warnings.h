// Private: what a recipe may say of its method that papers and practice advise against.
#pragma once

#include <string>
#include <vector>

#include "lockstep/recipe/recipe.h"

namespace lockstep::recipe {

// A line each, of the objective and its networks with these data.
std::vector<std::string> method_warnings(const Recipe& recipe);

}  // namespace lockstep::recipe
