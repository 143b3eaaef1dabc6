// A grid of a kernel, block after block, on one thread of the host.
#pragma once

#include "support/ptx/program.h"

namespace lockstep::test::ptx {

// arguments[i] points to the i-th parameter. `seed` gives the order of a block's warps between
// barriers. Ends the program where warp.h says, and if a barrier is not reached by all warps.
void run_grid(const Function& kernel, const void* const* arguments, std::uint32_t blocks,
              std::uint32_t threads, std::size_t shared_bytes, std::uint64_t seed);

}  // namespace lockstep::test::ptx
