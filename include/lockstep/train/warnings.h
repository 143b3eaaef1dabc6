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

// Does a run that goes on keep fewer of its checkpoints than it was to?
bool keeps_fewer(const recipe::Checkpoint& before, const recipe::Checkpoint& now);

// What a run that has done so many steps was to do, by keys that change no bit, and does not any
// more: a --set of the first start may have been left out. A line each. For both, too.
std::vector<std::string> withdrawn(const recipe::Recipe& before, Step done,
                                   const recipe::Recipe& now);

}  // namespace lockstep::train
