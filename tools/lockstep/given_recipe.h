// A recipe that a command line names.
#pragma once

#include <string>
#include <vector>

#include "lockstep/recipe/recipe.h"

namespace lockstep::cli {

// Loads a recipe; from a run's folder, that run's own, every byte of which is checked. `set`: keys
// that it overrides. Throws Error(kUsage) for what is no recipe, Error(kCorrupt) for a run's that
// is damaged.
recipe::Recipe given_recipe(const std::string& path, const std::vector<std::string>& set = {});

}  // namespace lockstep::cli
