// TCP on this machine, for the stand-in for NCCL.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

namespace lockstep::test::nccl {

// False: the other side is gone.
bool read_all(int socket, void* to, std::size_t bytes);
bool write_all(int socket, const void* from, std::size_t bytes);

// On a port of this machine's choice: the socket and the port.
std::pair<int, int> listen_here();
// -1: nobody listens there.
int connect_to(int port);
// -1: `stopped` before anybody came.
int accept_from(int listening, const std::atomic<bool>& stopped);

// Serves the ranks of one communicator, in a thread of its own: each says its rank, and hears the
// ports of all when all are there. Returns the port.
int serve_ports();
// A rank's side of it: the others' ports; none if `stopped` or the server is gone.
std::vector<int> ports_of_all(int server, int rank, int world, int own_port,
                              const std::atomic<bool>& stopped);

}  // namespace lockstep::test::nccl
