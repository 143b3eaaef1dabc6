// Tensors of one emulated GPU, and what is in them.
#pragma once

#include <vector>

#include "lockstep/numerics/cuda.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "support/gpu/gpu.h"

namespace lockstep::lane {

using Floats = std::vector<float>;

// The host cannot read its memory; each rank has a device of its own there.
struct OneGpu {
  numerics::Gpu gpu = test::gpu::open_gpu(3);
  at::Device tensors = ops::gpu_tensors(gpu.memory);
};
inline const OneGpu& one_gpu() {
  static const auto& one = *new OneGpu;
  return one;
}

inline Floats floats_of(const at::Tensor& x) {
  const ops::HostView values(x);
  return {values.floats().begin(), values.floats().end()};
}

}  // namespace lockstep::lane
