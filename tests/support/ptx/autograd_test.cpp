// Autograd on one GPU of several: LibTorch's engine sets a GPU of CUDA's by the number of our
// device, in the thread that runs our nodes. Were it another GPU, CUDA would take memory there.
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mutex>
#include <vector>

#include "lockstep/numerics/cuda.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/record.h"

namespace lockstep::ops {
namespace {

using torch::autograd::variable_list;

std::mutex mutex;
std::vector<int> gpus_set;

// In place of LibTorch's own for CUDA.
struct CudaGuard final : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
  c10::DeviceIndex deviceCount() const noexcept override { return 2; }
  void setDevice(c10::Device device) const override {
    const std::scoped_lock lock(mutex);
    gpus_set.push_back(device.index());
  }
};

struct Same : torch::autograd::Function<Same> {
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return x.clone(); }
  static variable_list backward(torch::autograd::AutogradContext*, const variable_list& dy) {
    return dy;
  }
};

TEST(PtxAutograd, TheirGpuIsOurs) {
  c10::impl::registerDeviceGuard(c10::DeviceType::CUDA, new CudaGuard);
  const numerics::Gpu gpu = numerics::open_gpu(1, 1);
  const at::Device device = gpu_tensors(gpu.memory);
  EXPECT_EQ(device.str(), "gpu:1");
  const DeviceScope here(*gpu.kernels, device);
  const std::vector<float> values = {1, 2, 3};
  const Tensor x = from_host(values, {3}), dy = from_host(values, {3});
  x.requires_grad_();
  const Tensor y = Same::apply(x);
  const variable_list dx = torch::autograd::grad({y}, {x}, {dy});
  EXPECT_THAT(HostView(dx.front()).floats(), ::testing::ElementsAreArray(values));
  const std::scoped_lock lock(mutex);
  EXPECT_THAT(gpus_set, ::testing::AllOf(::testing::Not(::testing::IsEmpty()), ::testing::Each(1)));
}

}  // namespace
}  // namespace lockstep::ops
