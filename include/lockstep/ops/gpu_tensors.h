// Tensors in a GPU's memory: a device of LibTorch of our own, "gpu:N" with CUDA's number.
// LibTorch's own device of CUDA would need its libraries for CUDA, and could compute; portable
// numerics asks nothing of LibTorch but to allocate, view and copy. So any LibTorch will do, that
// for CPUs too, and tests bring another memory (tests/support).
//
// - Operators that allocate, view and copy are those of src/ops/gpu_movement.cpp. Any other of
//   LibTorch's is refused with a c10::NotImplementedError that names it and its place.
// - Autograd runs the nodes of these tensors in a thread of its own.
// - For LibTorch there is one stream, all of whose work is always done. A thread may have
//   memory in an order of its own (ops/device.h).
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <optional>

#include "lockstep/core/memory.h"
#include "lockstep/numerics/device_memory.h"

namespace lockstep::ops {

// gpu:N, with tensors in this memory. Registers the device with LibTorch, for good and for the
// whole process; before the first backward pass, because LibTorch starts its threads of autograd
// then, for the devices it knows. Later calls give the same device and must bring the same memory.
at::Device gpu_tensors(std::shared_ptr<numerics::DeviceMemory> memory);

// This thread's: that of gpu_tensors(), or of its own order.
numerics::DeviceMemory& gpu_memory();

// So many processes, of which this is one, have equal shares of the GPU's memory: 1, until this was
// called. Before anything is computed.
void share_gpu(int processes);

// What this thread's device leaves for tensors: of a GPU's own memory this process's share, else
// lockstep::memory_left.
std::optional<MemoryLeft> memory_left(int processes);

}  // namespace lockstep::ops
