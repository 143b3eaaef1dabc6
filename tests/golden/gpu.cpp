// The program on an emulated GPU: whatever --device says.
#include "support/gpu/gpu.h"

#include "device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "support/far_device/fault.h"

namespace lockstep::cli {

int gpu_of(const std::string&, int) {
  return -1;
}

std::string gpu_identity(const std::string&, int) {
  return "";
}

OpenDevice open_device(const std::string&, int threads, int, double) {
  testing::far::name_faults();
  static const numerics::Gpu gpu = test::gpu::open_gpu(1);
  return {gpu.kernels->clone(threads), ops::gpu_tensors(gpu.memory)};
}

void require_device(const std::string&) {}

}  // namespace lockstep::cli
