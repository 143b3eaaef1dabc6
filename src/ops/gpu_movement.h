// Inside ops: the operators of tensors on the GPU.
#pragma once

namespace lockstep::ops {

// Registers them with LibTorch. Once.
void register_gpu_movement();

}  // namespace lockstep::ops
