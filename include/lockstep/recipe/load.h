// Reading recipes: strict TOML. What is not known, ill-typed or out of range is Error(kUsage) in
// one line with file, line and the nearest valid key:
//
//   recipes/a.toml:12: unknown key 'lrr' in [model.optimizer] (did you mean 'lr'?)
//
// `extends = "other.toml"` at the top takes every key that is not given from there; errors name the
// file that a value came from. What the extended file gives for choices that are made otherwise
// here (keys of another kind) is left out, and so is what an override makes meaningless. Relative
// paths (`extends`, data.path, data.labels, evaluation.features) start at the folder of the file
// that they stand in. An integer is accepted for a float, not the other way round; NaN and infinity
// are refused; -0.0 is read as 0.0. Files of more than 1 MiB are refused.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lockstep/core/file_system.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::recipe {

// `overrides`: "model.optimizer.lr=1e-3", the later one wins. The value is TOML; what is not (a
// bare word, a path) is taken as a string; a relative path starts at the current folder. In the
// recipe that is returned, and so in a run's recipe.toml, paths are absolute.
Recipe load(const std::filesystem::path& path, const std::vector<std::string>& overrides = {});

// What to do where there is no such run folder.
std::string hint_for_no_run(const std::filesystem::path& folder);

// The recipe of a run folder, every byte checked (parse_run_text in canonical.h). Error(kUsage) if
// the folder is not a run.
Recipe of_run(FileSystem& fs, const std::filesystem::path& folder);

// A recipe file as people write it or as a run folder keeps it.
Recipe load_any(const std::filesystem::path& path);

// A recipe in memory; `name` stands for the file in errors, `extends` is refused, paths stay as
// written.
Recipe parse(const std::string& text, const std::string& name);

}  // namespace lockstep::recipe
