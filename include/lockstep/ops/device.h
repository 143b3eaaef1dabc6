// The device that a thread's ops compute on, and the ways of values between it and the host.
//
// Tensors are memory of LibTorch's allocator of that device. The host never reads or writes them
// itself: kernels do (numerics/device.h), and the named copies below.
#pragma once

#include <ATen/core/Tensor.h>

#include <bit>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lockstep/core/bytes.h"
#include "lockstep/core/ids.h"
#include "lockstep/numerics/device.h"
#include "lockstep/numerics/device_memory.h"

namespace lockstep::ops {

using at::Tensor;

// This thread's: that of the innermost scope. Without one it is a CPU with one thread.
numerics::Device& device();
// Where LibTorch keeps the tensors that this device computes with.
at::Device tensors_device();

// For another thread: a device, and memory for its tensors, in an order of their own where this
// thread's device is a GPU. Device::record_event orders the two.
struct OwnStream {
  std::unique_ptr<numerics::Device> device;
  at::Device tensors;
  std::shared_ptr<numerics::DeviceMemory> memory;  // null: that of this thread's tensors
};
OwnStream own_stream();

// While it lives, this thread computes on `device`, with tensors of `tensors`, or in that order.
class DeviceScope {
 public:
  explicit DeviceScope(numerics::Device& device, at::Device tensors = at::kCPU);
  explicit DeviceScope(const OwnStream& order);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  numerics::Device* const outer_;
  const at::Device outer_tensors_;
  const std::shared_ptr<numerics::DeviceMemory> outer_memory_;
};

// The device that holds a tensor: this thread's, or, of a tensor in the host's memory (a loaded
// checkpoint's), the host.
numerics::Device& device_of(const Tensor& x);

static_assert(std::endian::native == std::endian::little, "floats are kept as they lie in memory");

// A float32, contiguous tensor's values for the host: its own memory where that is the host's, else
// a copy. None of an undefined tensor. Its bytes are what every hash, checkpoint and archive holds:
// binary32, little-endian.
class HostView {
 public:
  explicit HostView(const Tensor& x);

  std::span<const float> floats() const;
  ByteView bytes() const { return std::as_bytes(floats()); }
  // A copy, whose floats are aligned wherever the tensor's lie: a loaded checkpoint's may not be.
  std::vector<float> copy() const;

 private:
  Tensor held_;
};

// The one value of a tensor, such as a loss or a norm: values that steer come to the host here.
float value_of(const Tensor& x);

// A tensor of these sizes with these values.
Tensor from_host(std::span<const float> values, at::IntArrayRef sizes);
// A value for each of `n` samples, from the first on: the host works them out, again in every
// launch where work is captured (Device::capture).
Tensor by_sample(Draw first, std::int64_t n, const std::function<float(Draw)>& value);
// Overwrites a tensor with as many values.
void from_host(std::span<const float> values, Tensor& to);
// A tensor in the host's memory, with a copy of these values.
Tensor to_host(const Tensor& x);
// The same of several, those of the host's memory as they are: the host waits once.
std::vector<Tensor> to_host(const std::vector<Tensor>& tensors);

}  // namespace lockstep::ops
