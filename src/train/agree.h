// Ranks compare what the state became; a difference is located before anybody goes on.
#pragma once

#include "lockstep/comm/group.h"
#include "lockstep/state/state.h"

namespace lockstep::train {

// Throws Error(kDiffer) naming step, tensor, elements and the odd rank unless all ranks hold the
// same digest. Collective: yes.
void agree(comm::Group& group, const state::State& state, const state::StateDigest& digest);

}  // namespace lockstep::train
