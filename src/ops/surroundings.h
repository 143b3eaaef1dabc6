// Inside ops: what a thread's ops are surrounded by. LibTorch runs the backward pass of devices
// other than the CPU in threads of its own, which have none of it; so an op remembers its own, and
// its backward function gets them there.
#pragma once

#include <cstdint>
#include <memory>
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
  std::shared_ptr<numerics::DeviceMemory> memory;  // null: that of gpu_tensors()
};

// A thread's, where it keeps them: what they are now, not what they were when an op was recorded,
// because a listener of the forward pass is gone in the backward pass.
struct Surroundings {
  std::thread::id thread;
  Guard** guard;  // may be null, as the next
  const Listener** listener;
  Numerics* numerics;
  std::uint64_t** sequence;  // counts the thread's nodes
  Place* place;
};

// Those of this thread, or those that it has entered. They may be entered elsewhere only while
// their thread waits for the engine.
Surroundings surroundings();

// While it lives, this thread has them. Nothing where it is their own thread.
class SurroundingsScope {
 public:
  explicit SurroundingsScope(const Surroundings& surroundings);
  ~SurroundingsScope();
  SurroundingsScope(const SurroundingsScope&) = delete;
  SurroundingsScope& operator=(const SurroundingsScope&) = delete;

 private:
  struct Values {
    Guard* guard;
    const Listener* listener;
    Numerics numerics;
    std::uint64_t* sequence;
    Place place;
  };
  static Values values_of(const Surroundings& surroundings);
  static void set(const Values& values);

  const Surroundings* const before_;  // that were entered
  const Surroundings entered_;
  const bool elsewhere_;
  const Values kept_;  // this thread's
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
