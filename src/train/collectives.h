// Collective operations outside of steps, about the run rather than its state.
#pragma once

#include <cstdint>
#include <vector>

#include "lockstep/comm/group.h"

namespace lockstep::train {

// Sums of whole numbers over ranks, element by element; all ranks give equally many.
// Collective: yes.
std::vector<std::int64_t> sums(comm::Group& group, const std::vector<std::int64_t>& mine);

}  // namespace lockstep::train
