// What a recipe allows with these data and nobody wants.
#pragma once

#include <string>
#include <vector>

#include "lockstep/data/dataset.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::train {

// A line each; none for most recipes. For the start of `train` and for --dry-run, beside
// recipe::warnings.
std::vector<std::string> warnings(const recipe::Recipe& recipe, const data::Dataset& dataset);

}  // namespace lockstep::train
