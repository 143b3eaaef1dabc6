// What ranks tell each other outside of steps. Collective: all of these.
#pragma once

#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// What rank 0 restored (`whole`; nothing elsewhere, and at step 0) becomes everybody's state; then
// all have agreed on it. Only rank 0 needs to have read a checkpoint. Bits: rank 0's state.
void share_state(comm::Group& group, const state::State* whole, Training& training);

// Sums over ranks, element by element, of whole numbers: all ranks give as many.
std::vector<std::int64_t> sums(comm::Group& group, const std::vector<std::int64_t>& mine);

// In front of an error that every rank has come to by itself: returns when all have. Who leaves by
// an error stops the others, and one that is still on its way would say that instead.
void await_all(comm::Group& group);

}  // namespace lockstep::train
