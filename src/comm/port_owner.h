// Who listens on a TCP port of this host, as far as /proc tells this user.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::comm {

// Whether a program waits for connections there: a port may be in use by a connection alone, for a
// minute after its end, too.
bool somebody_listens(int port);

// "process 4711 (python3 train.py)", or "" if it cannot be seen. Of several that hold the port the
// one that started first: others got it from that one. Never this process. `proc`: where procfs is.
std::string port_owner(int port, const std::filesystem::path& proc = "/proc");

}  // namespace lockstep::comm
