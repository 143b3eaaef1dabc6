#include "lockstep/train/signals.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

namespace lockstep::train {
namespace {

volatile std::sig_atomic_t requested = 0, telling = 0;

// In a signal handler, where little else is allowed.
void tell(std::string_view line) {
  if (telling && ::write(STDERR_FILENO, line.data(), line.size()) < 0) telling = 0;
}

void on_signal(int signal) {
  if (requested && signal == SIGINT) {
    tell("lockstep: ended at once; the same command goes on from the last checkpoint\n");
    std::_Exit(128 + SIGINT);
  }
  if (!requested)
    tell("lockstep: stopping after this step and its pictures; a second Ctrl-C ends at once\n");
  requested = 1;
}

}  // namespace

void announce_stop_signals() {
  telling = 1;
}

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  // Whoever started this process may have held them back until now.
  sigset_t caught;
  sigemptyset(&caught);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&caught, signal);
  sigprocmask(SIG_UNBLOCK, &caught, nullptr);
}

bool stop_requested() {
  return requested != 0;
}

}  // namespace lockstep::train
