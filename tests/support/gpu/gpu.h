// A device whose kernels are CUDA's (src/numerics/cuda), in a grid that the host emulates (grid.h).
// `seed` gives the orders of blocks and threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lockstep/numerics/cuda.h"

namespace lockstep::test::gpu {

// Multiprocessors: so few that small products are cut as large ones are; another number for another
// seed.
inline int few(std::uint64_t seed) {
  return 1 + static_cast<int>(seed % 4);
}

// Its memory is the host's, and a kernel is done when its call returns. It has few multiprocessors,
// unless it is to have so many.
std::unique_ptr<numerics::Device> make_gpu(std::uint64_t seed,
                                           std::optional<int> multiprocessors = {});

// As far as the host can tell a GPU: its memory is far (support/far_device/memory.h), and what is
// called waits in a stream until the host asks for a result, so that whoever does not wait is seen.
numerics::Gpu open_gpu(std::uint64_t seed, std::optional<int> multiprocessors = {});

// Whether other processes and the driver may take its memory meanwhile: a real one's.
bool others_take_memory();

}  // namespace lockstep::test::gpu
