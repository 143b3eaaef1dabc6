// Where tensors are packed, checked and summed for other ranks: on the GPU that computes, if the
// group takes its memory, and else in the host's memory.
#pragma once

#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/ops/device.h"

namespace lockstep::lane {

using at::Tensor;

class Side {
 public:
  // Of this thread's device, which outlives it.
  explicit Side(const comm::Group& group);
  // The host's, whatever the group takes.
  static Side host();

  comm::Memory memory() const { return memory_; }
  numerics::Device& device() const { return *device_; }

  // Returns when its memory is an operation's (comm/group.h): that was taken, and what kernels
  // write there is there. Not before what is sent is packed and room for what arrives is made.
  void settle() const;

  // A tensor in its memory that holds anything.
  Tensor empty(at::IntArrayRef sizes) const;
  // Contiguous tensors as they are here: themselves, or copies, which come together. The host waits
  // at most once.
  std::vector<Tensor> bring(const std::vector<Tensor>& tensors) const;
  // Tensors of this side for the host. It waits at most once.
  std::vector<Tensor> read(const std::vector<Tensor>& tensors) const;

 private:
  friend class StandIns;
  Side(numerics::Device& device, at::Device tensors, comm::Memory memory)
      : device_(&device), tensors_(tensors), memory_(memory) {}

  numerics::Device* device_;
  at::Device tensors_;
  comm::Memory memory_;
};

// Tensors of a side for some of this thread's device: those themselves, if they lie there.
class StandIns {
 public:
  StandIns(const Side& side, std::vector<Tensor> of);

  // To be written.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  // What was written, where it belongs. All of it comes together.
  const std::vector<Tensor>& bring_back() const;

 private:
  const std::vector<Tensor> of_;
  std::vector<Tensor> tensors_;
  Tensor joined_;  // what they are pieces of; undefined: those themselves
};

}  // namespace lockstep::lane
