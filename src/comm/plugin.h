// Loads a transport's shared library into a symbol scope of its own.
#pragma once

#include <memory>

#include "transport.h"

namespace lockstep::comm {

// Opens liblockstep_<name>.so, which lies in the program's folder or in ../lib of it. Throws
// Error(kEnvironment) if the file is missing or cannot be loaded, if it needs what this machine
// lacks, or if the transport cannot start.
std::unique_ptr<Transport> open_transport(const std::string& name, const TransportOptions& options);

}  // namespace lockstep::comm
