// The emulated GPU of this program's tests, with as many multiprocessors as an H100.
#pragma once

#include "support/gpu/gpu.h"

namespace lockstep::train {

inline const numerics::Gpu& emulated_gpu() {
  static const numerics::Gpu opened = test::gpu::open_gpu(1, 132);
  return opened;
}

}  // namespace lockstep::train
