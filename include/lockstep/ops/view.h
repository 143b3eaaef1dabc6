// Views for the hot path: the observer of ops/guard.h pays for each trip through LibTorch's
// dispatcher, and these make none.
#pragma once

#include "lockstep/ops/record.h"

namespace lockstep::ops {

// The same memory from x's first element on, seen with these sizes and strides, without history.
// Error(kBug) if that is more than x's memory.
Tensor view(const Tensor& x, at::IntArrayRef sizes, at::IntArrayRef strides);

// The first of the parts along the first dimension.
Tensor first_part(const Tensor& x);

}  // namespace lockstep::ops
