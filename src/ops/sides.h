// Inside ops: two tensors side by side, for kernels.
#pragma once

#include "lockstep/numerics/spec/shapes.h"
#include "lockstep/ops/ops.h"

namespace lockstep::ops {

// Without history, as kernels read them.
inline SideBySide contiguous(const SideBySide& x) {
  return {bare(x.left).contiguous(), x.right.defined() ? bare(x.right).contiguous() : Tensor()};
}

// Addresses of both (record.h, read).
inline numerics::Sides<const float> sides(const SideBySide& x) {
  if (!x.right.defined()) return read(x.left);
  return {read(x.left), x.left.size(-1), read(x.right)};
}

}  // namespace lockstep::ops
