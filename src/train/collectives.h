// Collective operations outside of steps, about the run rather than its state.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/comm/group.h"

namespace lockstep::train {

// Sums of whole numbers over ranks, element by element; all ranks give equally many.
// Collective: yes.
std::vector<std::int64_t> sums(comm::Group& group, const std::vector<std::int64_t>& mine);

// Returns when all ranks have come here: called before an error that every rank finds by itself. A
// rank that leaves with an error stops the others, and a late one would report that instead.
// Collective: yes.
void await_all(comm::Group& group);

}  // namespace lockstep::train
