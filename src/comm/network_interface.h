// The addresses of a network interface of this host.
#pragma once

#include <string>
#include <vector>

#include "resolve.h"

namespace lockstep::comm {

// Of one family: IPv6 where `host`, which other ranks call, is such an address, else IPv4. `host`
// itself comes first, addresses of one link last. Error(kNetwork) if there is no such interface, or
// it has none.
std::vector<Address> addresses_of(const std::string& interface, const std::string& host, int port);

}  // namespace lockstep::comm
