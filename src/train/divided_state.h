// A state whose optimiser slots are divided (--shard optimizer; ZeRO-1, Rajbhandari et al. 2020):
// each rank holds and updates its slices. Digests and checkpoints are those of the undivided state.
#pragma once

#include <optional>

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// The digest of the whole state; what has hashes in `taken` is not read (state::leaves). Ranks
// exchange the hashes of their slices. Collective: yes.
state::StateDigest digest(comm::Group& group, const state::State& state, state::Leaves taken = {});

// The leaf hashes of the whole state without the others: those of their slices are the ones that
// `known` has. Collective: no.
state::Leaves whole_leaves(const state::State& state, const state::Leaves& known,
                           state::Leaves taken = {});

// The whole state, to be saved: on rank 0, or on every rank if nothing is divided. Collective: yes.
std::optional<state::State> whole_state(comm::Group& group, const state::State& state);

// Squares of all tiles (optim::tile_squares) of a network's gradients, of which this rank has
// `mine`: all, or those of its slices. Collective: where they are divided.
Tensor all_squares(comm::Group& group, const Trained& trained, const Tensor& mine);

// Every rank gets the slices of parameters that the other ranks' optimisers updated, if they are
// divided. Collective: yes.
void gather_parameters(comm::Group& group, const Trained& trained);

}  // namespace lockstep::train
