// Who listens on a TCP port of this host, as far as /proc tells this user.
#pragma once

#include <string>

namespace lockstep::comm {

// "process 4711 (python3 train.py)", or "" if it cannot be seen.
std::string port_owner(int port);

}  // namespace lockstep::comm
