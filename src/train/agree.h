// Ranks compare what the state became; a difference is located before anybody goes on.
#pragma once

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// The new state is everybody's. Throws Error(kDiffer) naming tensor, elements, both values and the
// odd rank unless all ranks hold the same digest; Error(kDiverged) naming the tensor if the state
// that they agree on, or everybody's, has a value that is not finite. Collective: yes.
void agree(comm::Group& group, const state::State& state, const state::StateDigest& digest);

// Throws Error(kDiffer), naming tensor and elements, if the state is not `training.agreed` any
// more.
void require_unchanged(const Training& training, const state::StateDigest& now);

}  // namespace lockstep::train
