#include "support/nccl/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

namespace lockstep::test::nccl {
namespace {

constexpr int kLook = 20;  // milliseconds between looks at `stopped`

struct Hello {
  int rank, world, port;
};

sockaddr_in here(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

bool wait_readable(int socket, const std::atomic<bool>& stopped) {
  pollfd one{socket, POLLIN, 0};
  while (!stopped)
    if (::poll(&one, 1, kLook) > 0) return true;
  return false;
}

void serve(int listening) {
  const std::atomic<bool> never = false;
  std::vector<int> sockets, ports;
  for (std::size_t missing = 1; missing > 0;) {
    const int socket = accept_from(listening, never);
    Hello hello{};
    if (!read_all(socket, &hello, sizeof hello)) {  // it has given up
      ::close(socket);
      continue;
    }
    const auto world = static_cast<std::size_t>(hello.world);
    if (sockets.empty()) missing = world;
    ports.resize(world);
    ports[static_cast<std::size_t>(hello.rank)] = hello.port;
    sockets.push_back(socket);
    --missing;
  }
  for (const int socket : sockets) {
    write_all(socket, ports.data(), ports.size() * sizeof(int));
    ::close(socket);
  }
  ::close(listening);
}

}  // namespace

bool read_all(int socket, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int socket, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t put = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

std::pair<int, int> listen_here() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = here(0);
  socklen_t size = sizeof address;
  if (::bind(socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(socket, 64) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return {-1, -1};
  return {socket, ntohs(address.sin_port)};
}

int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = here(port);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket);
    return -1;
  }
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

int accept_from(int listening, const std::atomic<bool>& stopped) {
  if (!wait_readable(listening, stopped)) return -1;
  const int socket = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

int serve_ports() {
  const auto [listening, port] = listen_here();
  std::thread([socket = listening] { serve(socket); }).detach();
  return port;
}

std::vector<int> ports_of_all(int server, int rank, int world, int own_port,
                              const std::atomic<bool>& stopped) {
  std::vector<int> ports(static_cast<std::size_t>(world));
  const int socket = connect_to(server);
  if (socket < 0) return {};
  const Hello hello{rank, world, own_port};
  const bool known = write_all(socket, &hello, sizeof hello) && wait_readable(socket, stopped) &&
                     read_all(socket, ports.data(), ports.size() * sizeof(int));
  ::close(socket);
  if (!known) return {};
  return ports;
}

}  // namespace lockstep::test::nccl
