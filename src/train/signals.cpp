#include "lockstep/train/signals.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "lockstep/core/error.h"
#include "lockstep/core/log.h"

namespace lockstep::train {
namespace {

// Any thread may get a signal, two of them at once.
std::atomic<bool> requested = false, telling = false, clearing = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// In a signal handler, where little else is allowed.
void tell(std::string_view line) {
  constexpr std::string_view kClear = "\x1b[K";  // of the status line
  if (clearing && ::write(STDERR_FILENO, kClear.data(), kClear.size()) < 0) telling = false;
  if (telling && ::write(STDERR_FILENO, line.data(), line.size()) < 0) telling = false;
}

void on_signal(int signal) {
  const int error = errno;  // of the call that it came between
  const bool again = requested.exchange(true);
  if (again && signal == SIGINT) {
    tell("lockstep: ended at once; the same command goes on from the last checkpoint\n");
    std::_Exit(128 + SIGINT);
  }
  if (!again) tell("lockstep: stopping after this step; a second Ctrl-C ends at once\n");
  errno = error;
}

}  // namespace

void announce_stop_signals() {
  clearing = log::live();
  telling = true;
}

std::vector<int> stop_signals() {
  std::vector<int> all = {SIGTERM, SIGINT, SIGUSR1, SIGXCPU};
  struct sigaction found {};
  if (sigaction(SIGHUP, nullptr, &found) == 0 && found.sa_handler != SIG_IGN) all.push_back(SIGHUP);
  return all;
}

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  // Whoever started this process may have held them back until now.
  sigset_t caught;
  sigemptyset(&caught);
  for (const int signal : stop_signals()) {
    sigaction(signal, &action, nullptr);
    sigaddset(&caught, signal);
  }
  sigprocmask(SIG_UNBLOCK, &caught, nullptr);
}

bool stop_requested() {
  return requested;
}

void require_no_stop(const std::string& what) {
  if (requested)
    throw Error(Code::kPreempted, what + " was stopped by a signal", "the same command does it");
}

}  // namespace lockstep::train
