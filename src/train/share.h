// What ranks tell each other outside of steps. Collective: all of these.
#pragma once

#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Rank 0's state, cursor and tensors, becomes everybody's; then all have agreed on it. Only rank 0
// needs to have read a checkpoint. Bits: rank 0's state.
void share_state(comm::Group& group, Training& training);

// Whether any rank says yes: all get the same answer.
bool anyone(comm::Group& group, bool mine);

// Every rank's text, by rank.
std::vector<std::string> gather_texts(comm::Group& group, const std::string& mine);

}  // namespace lockstep::train
