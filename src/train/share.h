// What ranks tell each other outside of steps. Collective: all of these.
#pragma once

#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Every rank gets the state that rank 0 restored, and all agree on it. Only rank 0 needs to have
// read a checkpoint. whole: that state on rank 0; null elsewhere and at step 0. Bits: rank 0's
// state.
void share_state(comm::Group& group, const state::State* whole, Training& training);

// Sums of whole numbers over ranks, element by element; all ranks give equally many.
std::vector<std::int64_t> sums(comm::Group& group, const std::vector<std::int64_t>& mine);

// Returns when all ranks have come here: called before an error that every rank finds by itself. A
// rank that leaves with an error stops the others, and a late one would report that instead.
void await_all(comm::Group& group);

}  // namespace lockstep::train
