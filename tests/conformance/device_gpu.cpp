#include "conformance/device.h"
#include "support/gpu/gpu.h"

namespace lockstep::conformance {

numerics::Device& device() {
  static const std::unique_ptr<numerics::Device> gpu = test::gpu::make_gpu(1);
  return *gpu;
}

}  // namespace lockstep::conformance
