// A device whose kernels are CUDA's (src/numerics/cuda), in a grid that the host emulates (grid.h).
// Its memory is the host's.
#pragma once

#include <cstdint>
#include <memory>

#include "lockstep/numerics/device.h"

namespace lockstep::test::gpu {

// `seed` gives the orders of blocks and threads.
std::unique_ptr<numerics::Device> make_gpu(std::uint64_t seed);

}  // namespace lockstep::test::gpu
