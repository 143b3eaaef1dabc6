// Loads a transport's shared library into a symbol scope of its own.
#pragma once

#include <memory>

#include "transport.h"

namespace lockstep::comm {

// Opens lockstep_<name>.so, which lies in the program's folder or in ../lib of it. Errors:
// kEnvironment if the file is missing, cannot be loaded, or needs what this machine lacks; kNetwork
// if the transport cannot start.
std::unique_ptr<Transport> open_transport(const std::string& name, const TransportOptions& options);

}  // namespace lockstep::comm
