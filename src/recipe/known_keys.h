// The keys that a recipe may hold, given its choices.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layers.h"

namespace lockstep::recipe {

using KeySet = std::set<std::string>;  // "model", "model.optimizer", "model.optimizer.lr"

// A set a layer. Of an extended file, and of one under overrides: all that it may hold by itself,
// with the files that it extends. What stands above may choose otherwise, and then the keys of its
// choices (those of another kind) mean nothing. Of others: nothing.
std::vector<KeySet> inherited_keys(const std::vector<Layer>& layers);

// "model.optimizer" and "lr".
std::string joined_key(std::string_view path, std::string_view name);

}  // namespace lockstep::recipe
