// Gloo since 2023 (Debian 13), where the device listens for its pairs, as long as it lives.
#pragma once

#include <gloo/common/memory.h>  // ours where the package lacks it
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <linux/filter.h>
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

// A filter that drops every packet: nobody can connect there. Gloo holds that socket where we
// cannot close it.
inline void deafen(const sockaddr_in& address) {
  sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
  const sock_fprog program{1, &drop};
  for (int socket = 0, end = getdtablesize(); socket < end; ++socket)
    if (listens_at(socket, address) &&
        setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0)
      return;
  throw std::runtime_error("its device cannot be kept from listening");
}

// A pair that takes over a connection made by others. Its device hears nobody.
class AdoptedPair : public tcp::Pair {
 public:
  AdoptedPair(tcp::Context* context, tcp::Device* device, int rank,
              std::chrono::milliseconds timeout)
      : tcp::Pair(context, device, rank, timeout) {
    sockaddr_in address{};
    std::memcpy(&address, &self_.getSockaddr(), sizeof address);
    deafen(address);
  }
  void take(int socket) {
    connectCallback(std::make_shared<tcp::Socket>(::dup(socket)), tcp::Error::kSuccess);
  }
};

}  // namespace lockstep::comm
