// Loads a transport's shared library into a symbol scope of its own.
#pragma once

#include <memory>

#include "transport.h"

namespace lockstep::comm {

// lockstep_<name>.so beside the program or in ../lib of it. Throws Error(kEnvironment) if it is
// missing, cannot be loaded, or this machine lacks what it needs, Error(kNetwork) if the transport
// cannot start.
std::unique_ptr<Transport> open_transport(const std::string& name, const TransportOptions& options);

}  // namespace lockstep::comm
