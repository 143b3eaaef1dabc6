// Which libraries move bytes between ranks; for the fingerprint.
#pragma once

#include <string>
#include <vector>

namespace lockstep::comm {

// Of the transports beside the program, as they say it: "Gloo 0.5.0", "NCCL 2.28.9". Those that are
// missing or cannot be loaded are left out.
std::vector<std::string> libraries();

}  // namespace lockstep::comm
