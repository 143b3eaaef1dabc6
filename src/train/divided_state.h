// A state whose optimiser slots are divided (--shard optimizer; ZeRO-1, Rajbhandari et al. 2020):
// each rank holds and updates its slices. Digests and checkpoints are those of the undivided state.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Leaf hashes by the tensor's number; none for tensors whose hashes were not taken.
using SlotHashes = std::map<std::size_t, std::vector<hash::Leaf>>;

// Takes the leaf hashes of this rank's slices of a network's slots right after their update. A
// slice has one holder, so only these hashes can show that it changes later in the step.
void note_slots(const state::State& state, const std::string& role, SlotHashes& slot_hashes);

// The digest of the whole state, with the slices' noted hashes. Ranks exchange those of their
// slices. Collective: yes.
state::StateDigest digest(comm::Group& group, const state::State& state,
                          const SlotHashes& slot_hashes = {});

// The same from this rank's slices alone, the others' taken from `known`. Collective: no.
state::StateDigest digest(const state::State& state, const state::StateDigest& known);

// The whole state, to be saved: on rank 0, or on every rank if nothing is divided. Collective: yes.
std::optional<state::State> whole_state(comm::Group& group, const state::State& state);

// Squares of all tiles (optim::tile_squares) of a network's gradients, of which this rank has
// `gradients`: all, or its slices. Collective: yes.
std::vector<float> all_squares(comm::Group& group, const Trained& trained,
                               const std::vector<at::Tensor>& gradients);

// Every rank gets the slices of parameters that the other ranks' optimisers updated, if they are
// divided. Collective: yes.
void gather_parameters(comm::Group& group, const Trained& trained);

}  // namespace lockstep::train
