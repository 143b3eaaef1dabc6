// The keys that a recipe may hold, given its choices.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "layers.h"

namespace lockstep::recipe {

using KeySet = std::set<std::string>;  // "model", "model.optimizer", "model.optimizer.lr"

// The keys that each layer may hold without being asked for them, one set a layer. For an extended
// file, and for a file under overrides: all keys that it and the files it extends may hold by
// themselves. A stronger layer may choose another kind; then the keys of the weaker choice mean
// nothing. For other layers: none.
std::vector<KeySet> inherited_keys(const std::vector<Layer>& layers);

// What must be chosen in the table `path`, so that it has this key: `schedule = "cosine" or
// "linear"`; "" if none gives it one, or only its kind or weights.
std::string choices_with(const std::vector<Layer>& layers, const std::string& path,
                         std::string_view key);

// "model.optimizer" and "lr" give "model.optimizer.lr".
std::string joined_key(std::string_view path, std::string_view name);

}  // namespace lockstep::recipe
