// NVIDIA's GPUs. This build has none of their kernels yet.
#pragma once

#include <memory>

#include "lockstep/numerics/device.h"

namespace lockstep::numerics {

// The GPU with this number. Error(kEnvironment): this build has no CUDA.
std::unique_ptr<Device> make_cuda(int number);
// Only the error.
void require_cuda(int number);

}  // namespace lockstep::numerics
