#include <algorithm>

#include "device.h"
#include "lockstep/core/host.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/cuda.h"
#include "lockstep/ops/gpu_tensors.h"

namespace lockstep::cli {

int gpu_of(const std::string& name, int local_rank) {
  if (name == "cpu") return -1;
  if (const auto number = gpu_number(name)) return *number;
  return local_rank % std::max(1, numerics::count_gpus());
}

std::string gpu_identity(const std::string& name, int local_rank) {
  const int number = gpu_of(name, local_rank);
  return number < 0 ? "" : boot_id() + " " + numerics::gpu_uuid(number);
}

OpenDevice open_device(const std::string& name, int threads, int local_rank, double patience) {
  if (name == "cpu") return {std::make_unique<numerics::Cpu>(threads), at::kCPU};
  // One a process, and never closed: tensors may outlive static objects.
  static const auto& gpu =
      *new numerics::Gpu(numerics::open_gpu(gpu_of(name, local_rank), threads, patience));
  return {gpu.kernels->clone(threads), ops::gpu_tensors(gpu.memory)};
}

void require_device(const std::string& name) {
  if (name != "cpu") numerics::require_gpu(gpu_number(name).value_or(0));
}

}  // namespace lockstep::cli
