// The emulated GPU of this program's tests, with as many multiprocessors as an H100.
#pragma once

#include <gtest/gtest.h>

#include "lockstep/ops/gpu_tensors.h"
#include "support/gpu/gpu.h"

namespace lockstep::train {

inline const numerics::Gpu& emulated_gpu() {
  static const numerics::Gpu opened = test::gpu::open_gpu(1, 132);
  return opened;
}

// LibTorch learns of it before any test: its autograd asks for devices once, at the first backward
// pass of the process, be it of a test or a rank on the CPU.
class EmulatedGpuIsKnown final : public ::testing::Environment {
 public:
  void SetUp() override { ops::gpu_tensors(emulated_gpu().memory); }
};
inline ::testing::Environment* const kEmulatedGpuIsKnown =
    ::testing::AddGlobalTestEnvironment(new EmulatedGpuIsKnown);

}  // namespace lockstep::train
