// Ranks as threads of one process: any world size without a network.
#pragma once

#include <functional>

#include "lockstep/comm/group.h"

namespace lockstep::comm {

// Runs body(group) on `world` threads, one a rank, and joins them. If a body throws, its group is
// aborted so that the others leave their collectives; the first rank's error is rethrown.
void run_local(int world, const std::function<void(Group&)>& body);

}  // namespace lockstep::comm
