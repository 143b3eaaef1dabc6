// The emulated GPU of a test program: tensors have one a process.
#pragma once

#include "lockstep/numerics/cuda.h"
#include "support/gpu/gpu.h"

namespace lockstep::ops::testing {

inline const numerics::Gpu& one_gpu() {
  static const numerics::Gpu gpu = test::gpu::open_gpu(1);
  return gpu;
}

}  // namespace lockstep::ops::testing
