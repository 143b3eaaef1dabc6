// Reading recipes: strict TOML. What is not known, ill-typed or out of range is Error(kUsage) in
// one line with file, line and the nearest valid key:
//
//   recipes/a.toml:12: unknown key 'lrr' in [model.optimizer] (did you mean 'lr'?)
//
// `extends = "other.toml"` at the top, relative to the file, takes every key that is not given
// from there; errors name the file that a value came from. An integer is accepted for a float, not
// the other way round; NaN and infinity are refused; -0.0 is read as 0.0. Files of more than 1 MiB
// are refused.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/recipe/recipe.h"

namespace lockstep::recipe {

// `overrides`: "model.optimizer.lr=1e-3", the later one wins. The value is TOML; what is not (a
// bare word, a path) is taken as a string. Paths in the recipe stay as written, relative to the
// current folder.
Recipe load(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});

// A recipe in memory; `name` stands for the file in errors, `extends` is refused.
Recipe parse(const std::string& text, const std::string& name);

}  // namespace lockstep::recipe
