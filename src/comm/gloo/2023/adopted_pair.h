// Gloo since 2023 (Debian 13), where the device listens for its pairs.
#pragma once

#include <fcntl.h>
#include <gloo/common/memory.h>  // ours where the package lacks it
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace lockstep::comm {

namespace tcp = gloo::transport::tcp;

// True for the socket that listens at this address.
inline bool listens_at(int socket, const sockaddr_in& address) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens) return false;
  sockaddr_in own{};
  size = sizeof own;
  return getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
         own.sin_family == AF_INET && own.sin_port == address.sin_port &&
         own.sin_addr.s_addr == address.sin_addr.s_addr;
}

// Gloo's handler for a descriptor that never has events.
class Silent final : public tcp::Handler {
  void handleEvents(int) override {}
};

// Closes Gloo's listening socket. Gloo keeps its descriptor private, and unregisters and closes it
// at the end; so another file takes over the descriptor's number.
inline void stop_listening(tcp::Device& device, const sockaddr_in& address) {
  static Silent silent;
  for (int socket = 0, end = getdtablesize(); socket < end; ++socket) {
    if (!listens_at(socket, address)) continue;
    device.unregisterDescriptor(socket, &silent);
    const int nothing = eventfd(0, EFD_CLOEXEC);
    if (nothing < 0 || dup3(nothing, socket, O_CLOEXEC) < 0)
      throw std::runtime_error("its device cannot be kept from listening");
    ::close(nothing);
    device.registerDescriptor(socket, EPOLLIN, &silent);
  }
}

// A pair that takes over a connection made elsewhere. Its device stops listening in the constructor
// of its first pair.
class AdoptedPair : public tcp::Pair {
 public:
  AdoptedPair(tcp::Context* context, tcp::Device* device, int rank,
              std::chrono::milliseconds timeout)
      : tcp::Pair(context, device, rank, timeout) {
    sockaddr_in address{};
    std::memcpy(&address, &self_.getSockaddr(), sizeof address);
    stop_listening(*device, address);
  }
  void take(int socket) {
    connectCallback(std::make_shared<tcp::Socket>(::dup(socket)), tcp::Error::kSuccess);
  }
};

}  // namespace lockstep::comm
