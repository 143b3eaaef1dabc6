// The device that tests compute on: the CPU (support/cpu.h), or for a while the emulated GPU.
#pragma once

#include <memory>

#include "support/cpu.h"
#include "support/gpu/gpu.h"

namespace lockstep::numerics {

inline std::unique_ptr<Device>& chosen_gpu() {
  static std::unique_ptr<Device> chosen;
  return chosen;
}

inline Device& device() {
  return chosen_gpu() ? *chosen_gpu() : cpu();
}

// The emulated GPU is the device while this lives, with orders of its own each time.
class OnGpu {
 public:
  OnGpu() {
    static std::uint64_t seed = 0;
    chosen_gpu() = test::gpu::make_gpu(++seed);
  }
  ~OnGpu() { chosen_gpu() = nullptr; }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
};

}  // namespace lockstep::numerics
