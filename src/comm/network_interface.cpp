#include "network_interface.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "socket.h"

namespace lockstep::comm {

std::vector<Address> addresses_of(const std::string& interface, const std::string& host, int port) {
  const bool v6 = host.find(':') != host.npos;
  ifaddrs* list = nullptr;
  std::vector<Address> found;
  std::vector<std::string> names;
  if (getifaddrs(&list) == 0) {
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
    for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
      if (!entry->ifa_addr || entry->ifa_addr->sa_family != (v6 ? AF_INET6 : AF_INET)) continue;
      if (std::ranges::find(names, entry->ifa_name) == names.end())
        names.emplace_back(entry->ifa_name);
      if (interface != entry->ifa_name) continue;
      Address& address = found.emplace_back();
      address.length = v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
      std::memcpy(&address.storage, entry->ifa_addr, address.length);
      const auto number = htons(static_cast<std::uint16_t>(port));
      if (v6)
        reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = number;
      else
        reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = number;
    }
  }
  if (found.empty())
    throw Error(Code::kNetwork,
                "this host (" + own_host_name() + ") has no network interface " + interface +
                    (v6 ? " with an IPv6 address" : " with an IPv4 address"),
                "it has " + (names.empty() ? "none" : joined(names, ", ")) +
                    (v6 ? "" : "; for IPv6, MASTER_ADDR must be an address"));
  in6_addr called{};
  const bool literal = inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &called) == 1;
  // The address that the others call, if it is one of them; those of this link alone, last.
  std::ranges::stable_sort(found, {}, [&](const Address& address) {
    if (!v6) return address.text() == host ? 0 : 1;
    const in6_addr& own = reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_addr;
    if (literal && std::memcmp(&own, &called, sizeof own) == 0) return 0;
    return IN6_IS_ADDR_LINKLOCAL(&own) ? 2 : 1;
  });
  return found;
}

}  // namespace lockstep::comm
