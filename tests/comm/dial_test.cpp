#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <fstream>
#include <thread>

#include "comm/socket.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"

namespace lockstep::comm {
namespace {

// A network of this thread alone, where the system gives connections one of two ports.
bool enter_network(int port) {
  if (unshare(CLONE_NEWNET) != 0) return false;
  const Socket any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  std::string("lo").copy(loopback.ifr_name, 2);
  loopback.ifr_flags = IFF_UP;
  std::ofstream range("/proc/sys/net/ipv4/ip_local_port_range");
  range << port << " " << port + 1 << std::endl;
  return ioctl(any.fd(), SIOCSIFFLAGS, &loopback) == 0 && range.good();
}

TEST(Dial, ASocketThatReachesItselfHasReachedNobody) {
  constexpr int kPort = 40000;
  std::string error = "NOT PROVED: it takes a network namespace";
  std::thread([&] {
    if (!enter_network(kPort)) return;
    try {
      dial("127.0.0.1", kPort, {monotonic_seconds() + 120}, Patience::kNow);
      error = "it reached itself";
    } catch (const Error& refused) {
      error = refused.what();
    }
  }).join();
  if (error.starts_with("NOT PROVED")) GTEST_SKIP() << error;
  EXPECT_THAT(error, testing::HasSubstr("refused, nobody listens there"));
}

}  // namespace
}  // namespace lockstep::comm
