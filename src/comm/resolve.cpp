#include "resolve.h"

#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <memory>

#include "lockstep/core/clock.h"
#include "lockstep/core/thread.h"

namespace lockstep::comm {
namespace {

Resolved ask(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  Resolved found;
  if (const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list)) {
    found.problem = gai_strerror(failed);
    return found;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    Address& address = found.addresses.emplace_back();
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.length = entry->ai_addrlen;
  }
  return found;
}

}  // namespace

std::string Address::text() const {
  std::array<char, NI_MAXHOST> host{};
  if (getnameinfo(get(), length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST))
    return "unknown";
  return host.data();
}

std::string Resolved::text(const std::string& host) const {
  std::string list;
  for (const Address& address : addresses)
    if (address.text() != host) list += (list.empty() ? " (" : ", ") + address.text();
  return list.empty() ? "" : list + ")";
}

// A thread asks. It is abandoned if the answer takes too long.
Resolved resolve(const std::string& host, int port, double until) {
  const auto answer = std::make_shared<std::promise<Resolved>>();
  std::future<Resolved> coming = answer->get_future();
  start_thread([answer, host, port] { answer->set_value(ask(host, port)); }).detach();
  const std::chrono::duration<double> left(until - monotonic_seconds());
  if (coming.wait_for(left) == std::future_status::ready) return coming.get();
  return {{}, "the name server does not answer"};
}

}  // namespace lockstep::comm
