#include "device.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/cuda.h"

namespace lockstep::cli {

OpenDevice open_device(const std::string& name, int threads) {
  if (name == "cpu") return {std::make_unique<numerics::Cpu>(threads), at::kCPU};
  const std::optional<int> gpu = gpu_number(name);
  LOCKSTEP_ASSERT(gpu, name);
  return {numerics::make_cuda(*gpu), at::Device(at::kCUDA, static_cast<at::DeviceIndex>(*gpu))};
}

void require_device(const std::string& name) {
  if (const std::optional<int> gpu = gpu_number(name)) numerics::require_cuda(*gpu);
}

}  // namespace lockstep::cli
