// Tensors that lie in memory which the host cannot read (memory.h), on the program's own device of
// LibTorch for GPUs (ops/gpu_tensors.h). So a test knows, without a GPU, that the host never reads
// them. All work is done when a call returns.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace lockstep::testing::far {

// gpu:0, in far memory. The first call registers it for the whole process.
c10::Device device();

// A tensor there, made without the dispatcher.
at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type = at::kFloat);

}  // namespace lockstep::testing::far
