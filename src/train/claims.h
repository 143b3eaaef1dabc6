// What a checkpoint claims beside its tensors, which only its own sidecar vouches for: recipe,
// semantics, the samples' shape, and at step 0 the state itself. All of it follows from what a
// run's ledger names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/checkpoint/checkpoint.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::train {

using Shape = std::vector<std::int64_t>;  // of a sample: [H, W, C] or [D]

// What every ledger of this recipe on this data begins with.
ledger::Header header_of(const recipe::Recipe& recipe, const hash::Digest& data);

// The shape of the run's samples: `data` is the hash that its ledger names. Nothing if the recipe
// names files and they are not here, or are others.
std::optional<Shape> shape_at_hand(const recipe::Recipe& recipe, const hash::Digest& data);

// The recipe in a checkpoint, where the text is canonical, has the id that stands beside it and was
// made with this program's semantics. `name` is the file's. Error: kCannotCompare for other
// semantics, else kCorrupt.
recipe::Recipe recipe_in(const checkpoint::Meta& meta, const std::string& name);

// What does not follow from recipe, ledger and data, in words; nothing if all does. shape: nothing,
// where it is not at hand.
std::optional<std::string> misfit(const checkpoint::Meta& meta, const recipe::Recipe& recipe,
                                  const ledger::Header& header, const std::optional<Shape>& shape);

// state::commit of step 0: computed from recipe and seed, or what the recipe names of another run's
// state. Bits: recipe, shape.
hash::Digest start_of(const recipe::Recipe& recipe, const Shape& shape);

// The checkpoint of step 0 is where the run starts: what it is instead, or nothing. Its own shape
// will do: a state made for another one has other tensors, or the same.
std::optional<std::string> not_the_start(const checkpoint::Loaded& loaded,
                                         const recipe::Recipe& recipe);

}  // namespace lockstep::train
