#include "socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "lockstep/comm/connect.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "network_interface.h"
#include "port_owner.h"
#include "resolve.h"

namespace lockstep::comm {
namespace {

constexpr std::size_t kCompactAt = 64 * 1024;
constexpr double kNameWithin = 20;  // seconds to find the address to listen on
constexpr double kOneTry = 5;       // seconds an address has to answer before the next is tried
constexpr double kSaysAfter = 3;    // seconds of trying in vain, then a line in the log

bool over(const Wait& wait) {
  return monotonic_seconds() >= wait.until || (wait.stopped && wait.stopped());
}

std::string numeric(const sockaddr_storage& storage, socklen_t length, bool with_port) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host.data(), host.size(),
                  port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV))
    return "unknown";
  return with_port ? std::string(host.data()) + ":" + port.data() : host.data();
}

// poll(2) of one descriptor. 0: it was not ready in time.
int wait_for(int fd, short events, const Wait& wait) {
  pollfd one{fd, events, 0};
  for (;;) {
    const double slice =
        wait.stopped ? std::min(wait.until, monotonic_seconds() + kAsks) : wait.until;
    const int ready = poll(&one, 1, poll_milliseconds(slice));
    if (ready > 0) return ready;
    if (over(wait)) return 0;
  }
}

// Seen once under load: a rejected connection whose error was gone. Only a peer is proof of one.
// And where nobody listens, the system may give the dialler that very port, and connects it to
// itself.
bool has_a_peer(int fd) {
  sockaddr_storage own{}, peer{};
  socklen_t own_length = sizeof own, length = sizeof peer;
  return getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) == 0 &&
         getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
         std::memcmp(&own, &peer, sizeof own) != 0;
}

// 0 or errno. The socket does not block afterwards.
int connect_by(int fd, const Address& address, const Wait& wait) {
  if (::connect(fd, address.get(), address.length) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (wait_for(fd, POLLOUT, wait) == 0) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return error;
  }
  return has_a_peer(fd) ? 0 : ECONNREFUSED;
}

std::string symptom(int error, const Resolved& name) {
  if (!name.problem.empty()) return "the name is not resolved: " + name.problem;
  switch (error) {
    case ECONNREFUSED:
      return "refused, nobody listens there or a firewall rejects it";
    case ETIMEDOUT:
      return "no answer";
    default:
      return errno_text(error);
  }
}

std::string cure(int error, const Resolved& name) {
  if (!name.problem.empty()) return "check MASTER_ADDR and this host's DNS";
  switch (error) {
    case ECONNREFUSED:
      return "is that rank running there? check MASTER_ADDR, MASTER_PORT and LOCKSTEP_INTERFACE, "
             "see its log";
    case ETIMEDOUT:
      return "a firewall drops the packets, or the host is down: open the ports between the hosts";
    default:
      return "check MASTER_ADDR, LOCKSTEP_INTERFACE, the routes and the firewall";
  }
}

// A limit of this process is its own error, not the network's.
[[noreturn]] void fail_to_open() {
  throw Error(Code::kEnvironment, "cannot open a socket: " + errno_text(errno),
              "raise the limit on open files (ulimit -n)");
}

bool too_many_open() {
  return errno == EMFILE || errno == ENFILE;
}

// For both kinds of sockets: so a connection, and its remains for a minute, do not block listening
// on the port that the system chose for it.
void reuse_address(int fd) {
  if (fd < 0) return;  // errno says why
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
}

Socket socket_for(const Address& address) {
  Socket socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket && too_many_open()) fail_to_open();
  reuse_address(socket.fd());
  return socket;
}

// The first address that works, or none and why.
Socket listen_at_one_of(const std::vector<Address>& addresses, int& error) {
  for (const Address& address : addresses) {
    Socket socket = socket_for(address);
    if (socket && bind(socket.fd(), address.get(), address.length) == 0 &&
        listen(socket.fd(), 1024) == 0)
      return socket;
    error = errno;
    if (error == EADDRINUSE) break;
  }
  return Socket();
}

[[noreturn]] void refuse_port(const std::string& where, int port) {
  std::string owner = port_owner(port);
  if (owner.empty() && !somebody_listens(port)) owner = "a connection: nobody listens there";
  throw Error(Code::kNetwork,
              own_host_name() + " cannot listen on " + where + ": the port is in use" +
                  (owner.empty() ? "" : " by " + owner),
              "end that, or set MASTER_PORT (LOCKSTEP_PORT under torchrun) to a free port");
}

[[noreturn]] void refuse_address(const std::string& where, int error) {
  if (error == EADDRNOTAVAIL)
    throw Error(
        Code::kNetwork,
        "cannot listen on " + where + ": not an address of this host (" + own_host_name() + ")",
        "MASTER_ADDR must name the host of rank 0");
  throw Error(Code::kNetwork, "cannot listen on " + where + ": " + errno_text(error));
}

void prepare(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

std::string errno_text(int error) {
  return std::generic_category().message(error);
}

int poll_milliseconds(double until) {
  const double left = std::clamp((until - monotonic_seconds()) * 1000, 0.0, 1e8);
  return left > 0 ? static_cast<int>(left) + 1 : 0;
}

std::string own_host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

Socket listen_at(const std::string& host, int port, const std::string& interface, double until) {
  const std::string where = host + ":" + std::to_string(port);
  Resolved name;
  if (interface.empty())
    name = resolve(host, port, monotonic_seconds() + kNameWithin);
  else
    name.addresses = addresses_of(interface, host, port);
  if (name.addresses.empty())
    throw Error(Code::kNetwork,
                "cannot listen on " + where + ": the name is not resolved: " + name.problem,
                "check MASTER_ADDR and this host's DNS");
  const double started = monotonic_seconds();
  for (bool logged = false;;) {
    int error = 0;
    if (Socket socket = listen_at_one_of(name.addresses, error)) return socket;
    if (error != EADDRINUSE) refuse_address(where, error);
    const double now = monotonic_seconds();
    if (somebody_listens(port) || now >= until) refuse_port(where, port);
    if (!logged && now > started + kSaysAfter) {
      log::warn(where + ": a connection has this port, still trying to listen there");
      logged = true;
    }
    poll(nullptr, 0, poll_milliseconds(std::min(until, now + kAsks)));
  }
}

Socket dial(const std::string& host, int port, const Wait& wait, Patience patience) {
  const double started = monotonic_seconds();
  const std::string where = host + ":" + std::to_string(port);
  bool logged = false;
  Resolved name;
  int error = 0;
  const auto connected = [&] {
    Resolved found = resolve(host, port, wait.until);
    // The time is over, whatever the name is: what the last try met is told.
    if (found.addresses.empty() && error != 0 && over(wait)) return Socket();
    name = std::move(found);
    error = 0;
    for (const Address& address : name.addresses) {
      Socket socket = socket_for(address);
      error = socket
                  ? connect_by(socket.fd(), address,
                               {std::min(wait.until, monotonic_seconds() + kOneTry), wait.stopped})
                  : errno;
      if (error == 0) return socket;
    }
    return Socket();
  };
  for (int tries = 1;; ++tries) {
    if (Socket socket = connected()) {
      prepare(socket.fd());
      return socket;
    }
    const double now = monotonic_seconds(), pause = std::min(1.0, 0.02 * tries);
    const std::string what = where + name.text(host) + ": " + symptom(error, name);
    if (over(wait) || now + pause >= wait.until ||
        !(error == ETIMEDOUT || patience == Patience::kNobodyYet))
      throw Error(
          Code::kNetwork,
          what + " (" + std::to_string(tries) + " tries in " + fixed(now - started, 1) + " s)",
          cure(error, name));
    if (!logged && now > started + kSaysAfter) {
      log::warn("still trying " + what + ", for another " + fixed(wait.until - now, 0) + " s");
      logged = true;
    }
    poll(nullptr, 0, poll_milliseconds(now + pause));
  }
}

void lose_after(const Socket& socket, double seconds) {
  const auto milliseconds = static_cast<unsigned>(seconds * 1000);
  setsockopt(socket.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

Socket accept_from(const Socket& listener) {
  pollfd wait{listener.fd(), POLLIN, 0};  // it may be a launcher's, and block
  if (poll(&wait, 1, 0) <= 0) return Socket();
  Socket socket(accept4(listener.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket && too_many_open()) fail_to_open();
  if (socket) prepare(socket.fd());
  return socket;
}

std::string local_address(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&storage), &length);
  return numeric(storage, length, false);
}

std::string remote_address(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&storage), &length);
  return numeric(storage, length, true);
}

int local_port(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&storage), &length);
  return ntohs(storage.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

bool send_frame(const Socket& socket, char type, ByteView payload, double until) {
  Bytes frame;
  put_u32_le(frame, static_cast<std::uint32_t>(payload.size()));
  frame.push_back(static_cast<std::byte>(type));
  frame.insert(frame.end(), payload.begin(), payload.end());
  for (std::size_t sent = 0; sent < frame.size();) {
    const ssize_t n =
        send(socket.fd(), frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      sent += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN) {
      pollfd wait{socket.fd(), POLLOUT, 0};
      if (poll(&wait, 1, poll_milliseconds(until)) == 0) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool FrameReader::fill(const Socket& socket) {
  std::array<std::byte, 4096> chunk;
  for (;;) {
    const ssize_t n = recv(socket.fd(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (n > 0) {
      pending_.insert(pending_.end(), chunk.begin(), chunk.begin() + n);
      // Returns to the caller, which may find the claimed length too large.
      if (static_cast<std::size_t>(n) == chunk.size()) return true;
    } else if (n < 0 && errno == EINTR) {
      continue;
    } else {
      return n < 0 && errno == EAGAIN;
    }
  }
}

std::optional<Frame> FrameReader::next(std::size_t most) {
  if (used_ == pending_.size() || used_ > kCompactAt) {
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ = 0;
  }
  const ByteView rest = ByteView(pending_).subspan(used_);
  if (rest.size() < 5) return std::nullopt;
  const std::size_t length = get_u32_le(rest);
  if (length > most)
    throw Error(Code::kNetwork, "a message claims " + std::to_string(length) +
                                    " bytes, more than " + std::to_string(most));
  if (rest.size() - 5 < length) return std::nullopt;
  const ByteView payload = rest.subspan(5, length);
  Frame frame{static_cast<char>(rest[4]), Bytes(payload.begin(), payload.end())};
  used_ += 5 + length;
  return frame;
}

std::optional<Frame> read_frame(const Socket& socket, FrameReader& reader, std::size_t most,
                                const Wait& wait) {
  for (;;) {
    if (auto frame = reader.next(most)) return frame;
    if (wait_for(socket.fd(), POLLIN, wait) == 0) throw Error(Code::kNetwork, "no answer in time");
    if (!reader.fill(socket)) return reader.next(most);
  }
}

Listening listen_on(const std::string& host, int port) {
  Socket socket = listen_at(host, port, "");
  const int bound = local_port(socket);
  return {socket.release(), bound};
}

}  // namespace lockstep::comm
