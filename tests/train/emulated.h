// The emulated GPU of this program's tests, with as many multiprocessors as an H100.
#pragma once

#include "lockstep/ops/gpu_tensors.h"
#include "support/gpu/gpu.h"

namespace lockstep::train {

// LibTorch learns of it before the first backward pass of any rank: later is too late.
inline const numerics::Gpu& emulated_gpu() {
  static const numerics::Gpu opened = [] {
    numerics::Gpu one = test::gpu::open_gpu(1, 132);
    ops::gpu_tensors(one.memory);
    return one;
  }();
  return opened;
}

}  // namespace lockstep::train
