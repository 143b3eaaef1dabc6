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
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "lockstep/core/text.h"

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
  for (const auto& open : std::filesystem::directory_iterator("/proc/self/fd")) {
    const auto number = parse_int(open.path().filename().native());
    const int socket = static_cast<int>(number.value_or(-1));
    if (!listens_at(socket, address)) continue;
    device.unregisterDescriptor(socket, &silent);
    const int nothing = eventfd(0, EFD_CLOEXEC);
    const bool silenced = nothing >= 0 && dup3(nothing, socket, O_CLOEXEC) >= 0;
    if (nothing >= 0) ::close(nothing);
    if (!silenced) throw std::runtime_error("its device cannot be kept from listening");
    device.registerDescriptor(socket, EPOLLIN, &silent);
  }
}

// A pair that takes over a connection made elsewhere. Its device listens only until the first pair
// is constructed.
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
    const int own = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
    if (own < 0) throw std::runtime_error("too many files are open");
    connectCallback(std::make_shared<tcp::Socket>(own), tcp::Error::kSuccess);
  }
};

}  // namespace lockstep::comm
