// Which library moves bytes between ranks; for the fingerprint.
#pragma once

#include <string>

namespace lockstep::comm {

// Of this transport, as it says it: "Gloo 0.5.0", "NCCL 2.28.9"; "" if it is missing or cannot be
// loaded.
std::string library_of(const std::string& transport);

}  // namespace lockstep::comm
