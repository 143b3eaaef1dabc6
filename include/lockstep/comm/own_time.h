// Work that takes one rank longer than the others, such as opening files before steps begin: rank 0
// reads a checkpoint for all, a disk is slow.
#pragma once

#include <functional>

#include "lockstep/comm/group.h"

namespace lockstep::comm {

// Does this rank's part, which calls no operations, and returns when all ranks have done theirs.
// Each tells the others that it is at work, so that they do not take it for hanging, however long
// it takes. What a part throws is thrown at once; who catches it aborts the group, and the others
// hear of that when their own parts are done. `group` is a Queue, or of one rank. Collective: yes.
void in_own_time(Group& group, const std::function<void()>& part);

}  // namespace lockstep::comm
