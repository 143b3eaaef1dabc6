// A state whose optimiser slots are divided (--shard optimizer; ZeRO-1, Rajbhandari et al. 2020):
// each rank holds and updates its slices. What is said of the state stays what it is undivided.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Leaf hashes by number of the tensor; nothing where none were taken.
using Noted = std::map<std::size_t, std::vector<hash::Leaf>>;

// Takes the leaf hashes of this rank's slices of a network's slots, as soon as they are updated: a
// slice has one holder, so what changes in it later in the step is only seen against older hashes.
void note_slots(const state::State& state, const std::string& role, Noted& noted);

// The digest of the whole state, with the hashes of slices that are noted: ranks tell each other
// those of theirs. Collective: yes.
state::StateDigest digest(comm::Group& group, const state::State& state, const Noted& noted = {});

// The same from this rank's slices alone, the others' taken from `known`. Collective: no.
state::StateDigest digest(const state::State& state, const state::StateDigest& known);

// The whole state, to be saved: on rank 0; where nothing is divided, on every rank. Collective:
// yes.
std::optional<state::State> whole_state(comm::Group& group, const state::State& state);

// Rank 0's tensors, or its `whole` (elsewhere nothing), become everybody's. Collective: yes.
void scatter(comm::Group& group, const state::State* whole, state::State& state);

// Squares of all tiles (optim::tile_squares) of gradients of which ranks have their slices.
// Collective: yes.
std::vector<float> all_squares(comm::Group& group, const std::vector<at::Tensor>& parameters,
                               const std::vector<at::Tensor>& slices);

// What every rank's optimiser made of its slices of the parameters becomes everybody's. Collective:
// yes.
void share_updates(comm::Group& group, const Trained& trained);

}  // namespace lockstep::train
