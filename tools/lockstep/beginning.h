// What a run begins from: its seed, another run's state, or weights of files.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/recipe/recipe.h"
#include "lockstep/state/state.h"

namespace lockstep::cli {

// As the command line names it.
struct Source {
  std::optional<std::string> from;   // RUN[@STEP]
  std::vector<std::string> weights;  // [ROLE=]FILE, or a folder; each
};

struct Beginning {
  recipe::Recipe recipe;                // with [run.from]
  std::vector<std::string> notes;       // for people
  std::function<state::State()> start;  // step 0, once; unset: the seed's, or the folder has it
};

// Of a run in `folder`. One that has begun goes on from its own folder if the parent is gone.
// Error(kUsage) for a source that does not fit the recipe; errors of train::start_from and
// start_from_weights.
Beginning beginning_of(recipe::Recipe recipe, const std::filesystem::path& folder,
                       const Source& source);

}  // namespace lockstep::cli
