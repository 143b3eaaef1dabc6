#include "lockstep/train/signals.h"

#include <csignal>
#include <cstdlib>

namespace lockstep::train {
namespace {

volatile std::sig_atomic_t requested = 0;

void on_signal(int signal) {
  if (requested && signal == SIGINT) std::_Exit(128 + SIGINT);
  requested = 1;
}

}  // namespace

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
