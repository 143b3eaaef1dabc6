// What a checkpoint claims besides its tensors: recipe, semantics, the samples' shape, and at step
// 0 the state itself. Only its own sidecar vouches for them, but all of them follow from what the
// run's ledger names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lockstep/checkpoint/checkpoint.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::train {

using Shape = std::vector<std::int64_t>;  // of a sample: [H, W, C] or [D]

// The header of every ledger of this recipe on this data.
ledger::Header header_of(const recipe::Recipe& recipe, const hash::Digest& data);

// Error(kData) unless they are the run's, whose ledger names their hash `data`. The recipe says
// which files they are of.
void require_data(const data::Dataset& dataset, const recipe::Recipe& recipe,
                  const hash::Digest& data);

// The shape of the run's samples. data: the hash that the run's ledger names. Error(kData) if the
// recipe names files that are not here or have another hash; shape_at_hand gives nothing then.
Shape shape_of_data(const recipe::Recipe& recipe, const hash::Digest& data);
std::optional<Shape> shape_at_hand(const recipe::Recipe& recipe, const hash::Digest& data);

// The recipe in a checkpoint. Its text must be canonical and have the id beside it; its semantics
// must be this program's. name: the file's. Errors: kCannotCompare for other semantics, else
// kCorrupt.
recipe::Recipe recipe_in(const checkpoint::Meta& meta, const std::string& name);

// Where a checkpoint and its ledger name different semantics, in words.
std::optional<std::string> semantics_mismatch(const checkpoint::Meta& meta,
                                              const ledger::Header& header);

// The first claim that does not follow from recipe, ledger and data, in words; nothing if all do.
// shape: nothing if it is not at hand.
std::optional<std::string> mismatch(const checkpoint::Meta& meta, const recipe::Recipe& recipe,
                                    const ledger::Header& header,
                                    const std::optional<Shape>& shape);

// The first line of the ledger that does not follow from its recipe, in words ("step 3: …"): its
// count of samples, its phases, or whether it has a commit. Nothing if all do. What the numbers are
// only a replay can tell.
std::optional<std::string> mismatch(const ledger::Ledger& ledger, const recipe::Recipe& recipe);

// state::commit of step 0: computed from recipe and seed, or named by the recipe if the run starts
// from another run's state. Bits: recipe, shape.
hash::Digest start_of(const recipe::Recipe& recipe, const Shape& shape);

// state::digest of step 0, as recipe and seed make it: what step 1 of the ledger starts from. Errors:
// kUsage if no network has samples of that shape, kEnvironment where native numerics cannot be set.
hash::Digest digest_of_start(const recipe::Recipe& recipe, const Shape& shape);

// How a checkpoint of step 0 differs from the run's start, in words; nothing if it does not. Taking
// its own shape is safe: a state made for another shape has other tensors, or the same.
std::optional<std::string> not_the_start(const checkpoint::Loaded& loaded,
                                         const recipe::Recipe& recipe);

}  // namespace lockstep::train
