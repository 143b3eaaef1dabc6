// A run that starts from a state that is not its seed's: another run's (fine-tuning, another
// learning rate, other data), or one with weights of a file. Its recipe names that state
// ([run.from]), so the evidence goes on from one run to the next.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/state/state.h"
#include "lockstep/train/open_run.h"

namespace lockstep::train {

struct Start {
  recipe::Recipe recipe;           // with [run.from]
  state::State state;              // step 0, held whole
  std::vector<std::string> notes;  // for people: what goes on, and what does not
};

// The recipe where weights come from another run: none are imported from a file any more.
recipe::Recipe without_files(recipe::Recipe recipe);

// Weights, buffers, averages, optimisers' slots, the data cursor and the count of updates go on;
// with run.from.optimizer = "anew" slots are zero and updates are counted from 1. Where the
// optimiser is of another kind its slots start at zero; averages that the parent does not keep
// start as copies of the weights. Frozen weights get their root into the recipe; one that it names
// must be theirs. Opens the recipe's data set, for the shape of its samples.
//
// Errors: kUsage (no run, no checkpoint of that step, a state of other networks), kCorrupt (the
// parent's evidence does not hold), those of data::open. Collective: no. Bits: recipe, the parent's
// state.
Start start_from(const SavedState& parent, recipe::Recipe recipe);

struct WeightsFile {
  std::string role;            // a network of the recipe
  std::filesystem::path path;  // safetensors, tensors named and laid out as `lockstep export` does
};

// First weights of these networks from files: parameters, buffers, and averages as copies. The
// other networks' come from the seed; optimisers, data and schedules begin. The recipe gets the
// SHA-256 of each file and that of step 0; those that it names must be theirs. Opens the recipe's
// data set, for the shape of its samples.
//
// Errors: kUsage (tensors of another network, values that are not finite, another file than the
// recipe names), kData (no such file, no safetensors), those of data::open. Collective: no. Bits:
// recipe, the files.
Start start_from_weights(const std::vector<WeightsFile>& files, recipe::Recipe recipe);

// The SHA-256 tree of a network's weights: the commit of a state at step 0, without samples, of its
// parameters and buffers alone. What [<role>] root of a recipe says of frozen ones.
hash::Digest root_of(const state::State& state, const std::string& role);

// Makes step 0 of `recipe`, which has [run.from], from the parent's folder again. Where the parent
// has no checkpoint of that step any more, the step 0 in the folder `child` is compared with the
// digest in the parent's ledger. Returns a line that says what was compared, for people. Error:
// kUsage (no run), kDiffer (another run, another state), kEnvironment (it cannot be compared),
// kCorrupt (the parent's evidence does not hold).
std::string compare_parent(const std::filesystem::path& parent, const recipe::Recipe& recipe,
                           const std::filesystem::path& child);
// Is this line one that compare_parent returns?
bool is_compared_start(std::string_view line);

}  // namespace lockstep::train
