// Ranks compare what the state became; a difference is located before anybody goes on.
#pragma once

#include "lockstep/comm/group.h"
#include "lockstep/state/state.h"

namespace lockstep::train {

// The new state is everybody's. Throws Error(kDiffer) naming tensor, elements, both values and the
// odd rank unless all ranks hold the same digest; Error(kDiverged) naming the tensor if all have a
// value that is not finite (one rank alone with such a value is odd). Collective: yes.
void agree(comm::Group& group, const state::State& state, const state::StateDigest& digest);

}  // namespace lockstep::train
