// Every operation with random bytes, and a hash of all that a rank received: the same over any
// transport.
#pragma once

#include "lockstep/comm/group.h"

namespace lockstep::comm {

// Collective. rounds of odd and empty sizes, then one with messages of `large` bytes.
std::uint64_t exercise(Group& group, int rounds, std::size_t large);

}  // namespace lockstep::comm
