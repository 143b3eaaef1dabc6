// Inside ops: what a thread's ops are surrounded by. LibTorch runs the backward pass of devices
// other than the CPU in threads of its own, which have none of it; so an op remembers its own, and
// its backward function gets them there.
#pragma once

#include <cstdint>
#include <thread>

#include "lockstep/ops/device.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/trace.h"

namespace lockstep::ops {

// ops/device.h's.
struct Place {
  numerics::Device* device;
  at::Device tensors;
};

struct Surroundings {
  std::thread::id thread;  // that set them up
  Guard* guard;            // may be null, as the next
  const Listener* listener;
  Numerics numerics;
  std::uint64_t* sequence;  // counts the thread's nodes
  Place place;
};

// This thread's. They live as long as the call that set them up, so they may be entered elsewhere
// only while this thread is inside of it: it waits for the engine.
Surroundings surroundings();

// While it lives, this thread has them. Nothing where it is their own thread.
class SurroundingsScope {
 public:
  explicit SurroundingsScope(const Surroundings& surroundings);
  ~SurroundingsScope();
  SurroundingsScope(const SurroundingsScope&) = delete;
  SurroundingsScope& operator=(const SurroundingsScope&) = delete;

 private:
  static void enter(const Surroundings& surroundings);
  const Surroundings outer_;
  const bool elsewhere_;
};

// Of device.cpp, guard.cpp and trace.cpp: this thread's.
Place& thread_place();
Guard*& thread_guard();
const Listener*& thread_listener();
// Of native.cpp.
Numerics& thread_numerics();
// Of record.cpp. LibTorch counts the nodes of each of its threads on their own, and runs later ones
// first: a backward pass that records nodes elsewhere would run in another order.
std::uint64_t*& thread_sequence();

}  // namespace lockstep::ops
