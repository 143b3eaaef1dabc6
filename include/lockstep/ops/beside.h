// Threads that record and differentiate ops beside each other, each a graph of its own: LibTorch
// differentiates the host's tensors in the thread that asks for it.
#pragma once

#include <cstddef>
#include <functional>

namespace lockstep::ops {

// How many threads may do so in place of this one: those of its device. 1 where the order of ops is
// heard (trace.h), where native kernels share the threads themselves (native.h), and where tensors
// are not the host's: LibTorch differentiates those in one thread a device.
int threads_beside();

// Whether a body before this one failed: then nobody asks for what this one would still do.
using Stopped = std::function<bool()>;

// body(i, stopped) for all i < count: the first in this thread, each other in one of its own. All
// have this thread's guard, numerics, place and grad mode, and a device on the same memory with a
// share of its threads. Returns when all have returned. Throws what the first of the bodies that
// failed, by number, threw; so a body goes on when a later one has failed. Bits: the bodies'.
void side_by_side(std::size_t count,
                  const std::function<void(std::size_t i, const Stopped& stopped)>& body);

}  // namespace lockstep::ops
