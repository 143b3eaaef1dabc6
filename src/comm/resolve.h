// Resolves names to addresses within a deadline. getaddrinfo has none: a name server that does not
// answer can hold it for minutes.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace lockstep::comm {

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  std::string text() const;  // "10.0.0.7"
};

struct Resolved {
  std::vector<Address> addresses = {};
  std::string problem = {};  // why there are none
  // " (10.0.0.7, fd00::7)", or "" if `host` is the address itself.
  std::string text(const std::string& host) const;
};

Resolved resolve(const std::string& host, int port, double until);

}  // namespace lockstep::comm
