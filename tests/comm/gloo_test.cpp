// Gloo's own thread and those that close its pairs, at the moments when each could wait for the
// other for ever. The ranks are transports of one process.
#include <arpa/inet.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <thread>

#include "comm/transport.h"
#include "lockstep/core/plugin.h"

namespace lockstep::comm {
namespace {

using namespace std::chrono_literals;

// The plug-in finds this program's functions before the system's: they stop where a test says so.
std::atomic<bool> catches_slowly = false, catching = false;
thread_local std::function<void()> before_broken_write;  // of this thread's next write

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace lockstep::comm

using namespace lockstep::comm;

extern "C" __attribute__((visibility("default"))) void* __cxxabiv1::__cxa_begin_catch(
    void* exception) noexcept {
  static auto* const real = next<void*(void*)>("__cxa_begin_catch");
  if (catches_slowly) {
    catching = true;
    std::this_thread::sleep_for(300ms);
  }
  return real(exception);
}

extern "C" __attribute__((visibility("default"))) ssize_t writev(int fd, const iovec* parts,
                                                                 int count) {
  static auto* const real = next<ssize_t(int, const iovec*, int)>("writev");
  if (const auto hook = std::exchange(before_broken_write, {})) {
    hook();
    errno = ETIMEDOUT;
    return -1;
  }
  return real(fd, parts, count);
}

namespace lockstep::comm {
namespace {

// Two ends of a TCP connection.
std::pair<int, int> connection() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  if (bind(listener, address, sizeof at) || listen(listener, 1) ||
      getsockname(listener, address, &length))
    std::abort();
  const int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(one, address, sizeof at)) std::abort();
  const int other = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  close(listener);
  for (const int fd : {one, other}) fcntl(fd, F_SETFL, O_NONBLOCK);
  return {one, other};
}

// `world` connected transports, by rank.
std::vector<std::unique_ptr<Transport>> ranks(int world) {
  const Plugin library("gloo", "this test", "build it", LOCKSTEP_THIS_INTERFACE,
                       Plugin::Symbols::kPrograms);
  const auto open = library.function<OpenTransport>(kOpenTransport);
  const auto count = static_cast<std::size_t>(world);
  std::vector<std::vector<int>> sockets(count, std::vector<int>(count, -1));
  for (std::size_t a = 0; a < count; ++a)
    for (std::size_t b = 0; b < a; ++b) std::tie(sockets[a][b], sockets[b][a]) = connection();
  std::vector<std::unique_ptr<Transport>> all;
  for (int r = 0; r < world; ++r) {
    std::string problem;
    all.emplace_back(open({r, world, "", 20000ms, 0, -1}, problem));
    if (!problem.empty()) std::abort();
    all.back()->take(sockets[static_cast<std::size_t>(r)]);
  }
  return all;
}

// What rank `peer` of `world` is sent, or sends.
template <class View>
std::vector<View> only(std::size_t world, std::size_t peer, Bytes& bytes) {
  std::vector<View> views(world);
  views[peer] = bytes;
  return views;
}

void expect_to_end(void (*body)()) {
  EXPECT_EXIT(
      {
        alarm(300);
        body();
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

// A rank is out of step: Gloo's thread finds a message too long while the group stops.
TEST(GlooPlugIn, IsInterruptedWhileItsThreadHasAnError) {
  expect_to_end([] {
    auto all = ranks(2);
    Bytes wanted(1000), sent(2000);
    all[0]->begin(1, std::vector<ByteView>(2), only<MutableByteView>(2, 1, wanted), Memory::kHost);
    catches_slowly = true;
    all[1]->begin(1, only<ByteView>(2, 0, sent), std::vector<MutableByteView>(2), Memory::kHost);
    while (!catching) std::this_thread::yield();
    all[0]->interrupt();
    catches_slowly = false;
    if (all[0]->finish(1s).empty()) _exit(1);
    all[1]->interrupt();
    all[1]->finish(1s);
    all.clear();
  });
}

// An operation's first write tells that the connection is dead, while another rank's message
// arrives.
TEST(GlooPlugIn, FindsAConnectionDeadWhileItBeginsAnOperation) {
  expect_to_end([] {
    auto all = ranks(3);
    Bytes sent(10), others(10), awaited(10);
    all[2]->begin(1, std::vector<ByteView>(3), only<MutableByteView>(3, 0, awaited), Memory::kHost);
    before_broken_write = [&] {
      std::thread([&] {
        all[1]->begin(1, only<ByteView>(3, 0, others), std::vector<MutableByteView>(3),
                      Memory::kHost);
      }).join();
      std::this_thread::sleep_for(300ms);  // rank 0's thread has the message
    };
    const std::string problem = all[0]->begin(1, only<ByteView>(3, 2, sent),
                                              std::vector<MutableByteView>(3), Memory::kHost);
    if (problem.find("rank 2") == problem.npos) _exit(1);
    all[0]->finish(1ms);
    if (all[2]->finish(120s).find("Connection closed") == std::string::npos) _exit(2);
    for (const auto& one : all) one->interrupt();
    all[1]->finish(1ms);
    all.clear();
  });
}

}  // namespace
}  // namespace lockstep::comm
