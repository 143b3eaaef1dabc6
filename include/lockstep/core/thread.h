// The one way to start a thread: where a limit on processes or memory forbids it, that is an Error,
// not the program's end.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "lockstep/core/error.h"

namespace lockstep {

// Error(kEnvironment): what the system said, and which limits to look at.
Error cannot_start_thread(const std::system_error& reason);

// Thread: std::thread or std::jthread. Throws Error(kEnvironment).
template <class Thread = std::thread, class Body>
Thread start_thread(Body&& body) {
  try {
    return Thread(std::forward<Body>(body));
  } catch (const std::system_error& reason) {
    throw cannot_start_thread(reason);
  }
}

}  // namespace lockstep
