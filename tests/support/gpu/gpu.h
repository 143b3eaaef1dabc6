// A device whose kernels are CUDA's (src/numerics/cuda), in a grid that the host emulates (grid.h).
// `seed` gives the orders of blocks and threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lockstep/numerics/cuda.h"

namespace lockstep::test::gpu {

// Its memory is the host's, and a kernel is done when its call returns. It has few multiprocessors,
// unless it is to have so many.
std::unique_ptr<numerics::Device> make_gpu(std::uint64_t seed,
                                           std::optional<int> multiprocessors = {});

// As far as the host can tell a GPU: its memory is far (support/far_device/memory.h), and what is
// called waits in a stream until the host asks for a result, so that whoever does not wait is seen.
numerics::Gpu open_gpu(std::uint64_t seed, std::optional<int> multiprocessors = {});

}  // namespace lockstep::test::gpu
