#include "lane/side.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/record.h"

namespace lockstep::lane {

Side Side::host() {
  return {ops::device().host(), at::kCPU, comm::Memory::kHost};
}

Side::Side(const comm::Group& group) : Side(host()) {
  if (!group.takes_device_memory() || ops::tensors_device().is_cpu()) return;
  device_ = &ops::device();
  tensors_ = ops::tensors_device();
  memory_ = comm::Memory::kDevice;
}

Tensor Side::empty(at::IntArrayRef sizes) const {
  return ops::empty_on(tensors_, sizes);
}

std::vector<Tensor> Side::bring(const std::vector<Tensor>& tensors) const {
  for (const Tensor& one : tensors) LOCKSTEP_ASSERT(one.is_contiguous());
  return tensors_.is_cpu() ? ops::to_host(tensors) : tensors;
}

std::vector<Tensor> Side::read(const std::vector<Tensor>& tensors) const {
  return tensors_.is_cpu() ? tensors : ops::to_host(tensors);
}

Tensor Side::stand_in(const Tensor& to) const {
  return to.device() == tensors_ ? to : empty(to.sizes());
}

void Side::copy_back(const Tensor& made, Tensor to) const {
  if (!made.is_same(to)) ops::from_host(ops::HostView(made).floats(), to);
}

}  // namespace lockstep::lane
