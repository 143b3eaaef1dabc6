// Values on their way between the host and a device, beside what the device computes: a step waits
// neither for its samples nor for a checkpoint of the state. On a CPU they are there at once.
//
// What is under way belongs to the GPU's memory (numerics/device_memory.h), not to a thread's
// device, so any thread may begin and end it. Bits: none.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <memory>
#include <span>
#include <vector>

#include "lockstep/numerics/device_memory.h"

namespace lockstep::ops {

using at::Tensor;

// To a device.
class Upload {
 public:
  // `values` may be gone when it returns. std::bad_alloc.
  Upload(std::span<const float> values, at::IntArrayRef sizes, at::Device place);

  // What is computed from now on finds the values in it; the host does not wait. Once.
  // Error(kEnvironment) if the copy failed.
  Tensor tensor();

 private:
  std::vector<std::int64_t> sizes_;
  at::Device place_;
  Tensor here_;                                                 // on a CPU
  std::unique_ptr<numerics::DeviceMemory::Upload> on_its_way_;  // to a GPU
};

// To the host.
class Download {
 public:
  // Float32, contiguous tensors, of this thread's device or the host: the values that they have
  // now, whatever is computed next. Where a GPU has no memory to keep them in, it waits for them.
  explicit Download(const std::vector<Tensor>& tensors);

  // Copies in the host's memory, in the same order; waits for them. Once. Error(kEnvironment) if a
  // copy failed.
  std::vector<Tensor> tensors();

 private:
  std::vector<Tensor> here_;  // those of a GPU: not filled yet
  std::vector<void*> to_;     // of these
  std::unique_ptr<numerics::DeviceMemory::Download> on_its_way_;
};

}  // namespace lockstep::ops
