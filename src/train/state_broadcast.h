// The state that rank 0 restored goes to all ranks.
#pragma once

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Every rank gets the state that rank 0 restored, and all agree on it. Only rank 0 needs to have
// read a checkpoint. whole: that state on rank 0; null elsewhere and at step 0. Errors: agree's;
// kDiffer if a tensor changed since it was restored. Collective: yes. Bits: rank 0's state.
void broadcast_state(comm::Group& group, const state::State* whole, Training& training);

}  // namespace lockstep::train
