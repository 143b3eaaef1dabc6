// NVIDIA's GPUs. Their kernels lie in a plug-in, liblockstep_cuda.so, loaded when a GPU is asked
// for: the program itself needs nothing of CUDA, and the plug-in nothing but a driver.
#pragma once

#include <memory>
#include <string>

#include "lockstep/numerics/device.h"
#include "lockstep/numerics/device_memory.h"

namespace lockstep::numerics {

// A device, and memory for the tensors that it computes with.
struct Gpu {
  std::unique_ptr<Device> kernels;
  std::shared_ptr<DeviceMemory> memory;
};

// How many GPUs the driver shows. Error(kEnvironment): no plug-in, no driver, one that is too old.
int count_gpus();
// The GPU of this number, with so many threads of the host. Error(kEnvironment) as above, or if
// there is no such GPU, it is too old (compute capability below 8.0), or has no memory left. Later
// calls throw it, too, if the GPU does not do its work, or not in `patience` seconds. `cut_for`:
// products are cut as on a GPU of so many multiprocessors, and give the same bits (0: of as many as
// it has); tests try tiles with it that this GPU would take for larger products only.
Gpu open_gpu(int number, int threads, double patience = 600, int cut_for = 0);
// The same errors; nothing of it is taken.
void require_gpu(int number);
// The UUID of that GPU, or of the MIG instance that this process sees as one: no other in the world
// has it, whatever number it has here. The same errors.
std::string gpu_uuid(int number);

}  // namespace lockstep::numerics
