#include "lockstep/ops/device.h"

#include <algorithm>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/cuda.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/record.h"
#include "ops/surroundings.h"

namespace lockstep::ops {

Place& thread_place() {
  thread_local numerics::Cpu alone;
  thread_local Place place{&alone, at::kCPU, nullptr};
  return place;
}

numerics::Device& device() {
  return *thread_place().device;
}

at::Device tensors_device() {
  return thread_place().tensors;
}

OwnStream own_stream() {
  if (tensors_device().is_cpu()) return {device().clone(), at::kCPU, nullptr};
  numerics::Gpu gpu = gpu_memory().own_stream();
  return {std::move(gpu.kernels), tensors_device(), std::move(gpu.memory)};
}

DeviceScope::DeviceScope(numerics::Device& device, at::Device tensors)
    : outer_(std::exchange(thread_place().device, &device)),
      outer_tensors_(std::exchange(thread_place().tensors, tensors)),
      outer_memory_(std::exchange(thread_place().memory, nullptr)) {}

DeviceScope::DeviceScope(const OwnStream& order)
    : outer_(std::exchange(thread_place().device, order.device.get())),
      outer_tensors_(std::exchange(thread_place().tensors, order.tensors)),
      outer_memory_(std::exchange(thread_place().memory, order.memory)) {}

DeviceScope::~DeviceScope() {
  thread_place() = {outer_, outer_tensors_, outer_memory_};
}

numerics::Device& device_of(const Tensor& x) {
  if (x.device() == tensors_device()) return device();
  LOCKSTEP_ASSERT(x.is_cpu(), "a tensor of " + x.device().str());
  return device().host();
}

HostView::HostView(const Tensor& x) : held_(x) {
  if (!x.defined()) return;
  LOCKSTEP_ASSERT(x.scalar_type() == at::kFloat && x.is_contiguous());
  if (!x.is_cpu()) held_ = to_host(x);
}

std::span<const float> HostView::floats() const {
  if (!held_.defined()) return {};
  return {held_.const_data_ptr<float>(), static_cast<std::size_t>(held_.numel())};
}

std::vector<float> HostView::copy() const {
  const ByteView held = bytes();
  std::vector<float> values(held.size() / sizeof(float));
  std::ranges::copy(held, std::as_writable_bytes(std::span(values)).begin());
  return values;
}

float value_of(const Tensor& x) {
  LOCKSTEP_ASSERT(x.numel() == 1);
  return HostView(x).floats().front();
}

Tensor from_host(std::span<const float> values, at::IntArrayRef sizes) {
  Tensor x = ops::empty(sizes);
  from_host(values, x);
  return x;
}

Tensor by_sample(Draw first, std::int64_t n, const std::function<float(Draw)>& value) {
  Tensor x = ops::empty({n});
  const auto fill = [=](std::uint64_t moved, void* memory) {
    auto* const values = static_cast<float*>(memory);
    const Draw start(first.value + static_cast<std::int64_t>(moved));
    for (std::int64_t i = 0; i < n; ++i) values[i] = value(Draw(start.value + i));
  };
  device().from_host_by(static_cast<std::size_t>(n) * sizeof(float), fill, write(x));
  return x;
}

void from_host(std::span<const float> values, Tensor& to) {
  LOCKSTEP_ASSERT(values.size() == static_cast<std::size_t>(to.numel()));
  device().from_host(values.size_bytes(), values.data(), write(to));
}

Tensor to_host(const Tensor& x) {
  Tensor copy = empty_on(at::kCPU, x.sizes());
  device_of(x).to_host(static_cast<std::size_t>(x.numel()) * sizeof(float),
                       x.const_data_ptr<float>(), copy.mutable_data_ptr<float>());
  return copy;
}

std::vector<Tensor> to_host(const std::vector<Tensor>& tensors) {
  if (tensors_device().is_cpu()) return tensors;
  if (tensors.size() == 1) return {to_host(tensors.front())};
  std::int64_t floats = 0;
  for (const Tensor& x : tensors) floats += x.numel();
  Tensor joined = ops::empty({floats});
  float* to = write(joined);
  for (const Tensor& x : tensors) {
    device().copy(static_cast<std::size_t>(x.numel()) * sizeof(float), read(x), to);
    to += x.numel();
  }
  const HostView values(joined);
  const float* from = values.floats().data();
  std::vector<Tensor> copies;
  for (const Tensor& x : tensors) {
    copies.push_back(empty_on(at::kCPU, x.sizes()));
    std::copy_n(from, x.numel(), copies.back().mutable_data_ptr<float>());
    from += x.numel();
  }
  return copies;
}

}  // namespace lockstep::ops
