// The tensors of support/far_device/device.h, in the memory of an emulated GPU: for the same tests.
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/record.h"
#include "support/far_device/device.h"
#include "support/gpu/gpu.h"

namespace lockstep::testing::far {

c10::Device device() {
  static const c10::Device registered = ops::gpu_tensors(test::gpu::open_gpu(1).memory);
  return registered;
}

at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type) {
  return ops::empty_on(device(), sizes, type);
}

}  // namespace lockstep::testing::far
