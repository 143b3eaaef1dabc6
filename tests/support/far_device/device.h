// The LibTorch half of the far device: a PrivateUse1 device "far:0" whose tensors lie in memory
// that the host cannot read (memory.h). So a test knows, without a GPU, that the host never does.
//
// - Tensors are made, seen otherwise and copied by kernels of ours (movement.cpp). Any other
//   operator of LibTorch is refused with a c10::NotImplementedError that names it and its place.
// - Autograd runs the nodes of far tensors in a thread of its own, as for a GPU.
// - All work is done when a call returns: there is one stream, and events are always ready.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

namespace lockstep::testing::far {

// far:0. The first call registers the device with LibTorch, for good and for the whole process; it
// comes before the first backward pass, because LibTorch starts its threads of autograd then, for
// the devices it knows. Thread-safe.
c10::Device device();

// A tensor there, made without the dispatcher: what at::detail::empty_generic needs is the
// allocator that device() registered, whose device the tensor takes, and the dispatch key.
at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type = at::kFloat);

}  // namespace lockstep::testing::far
