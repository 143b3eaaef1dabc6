// Who listens on a TCP port of this host, as far as this user can see it in /proc.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::comm {

// Whether a program listens there. A connection alone can hold a port, too, even for a minute after
// its end.
bool somebody_listens(int port);

// "process 4711 (python3 train.py)", or "" if it cannot be seen. If several hold the port: the one
// that started first, because the others inherited it. Never this process. proc: where procfs is.
std::string port_owner(int port, const std::filesystem::path& proc = "/proc");

}  // namespace lockstep::comm
