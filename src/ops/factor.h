// Inside ops: an operand of a product, with what products of another kind than binary32 make of it.
#pragma once

#include <memory>
#include <vector>

#include "lockstep/numerics/integer.h"
#include "lockstep/ops/ops.h"

namespace lockstep::ops {

// A tensor rounded in groups: [groups, …] of integers, and their exponents.
struct Integers {
  Tensor q, exponents;
  // From this group on.
  numerics::Rounded from(std::int64_t group) const;
};

struct Factor {
  Tensor value;  // undefined where only what is multiplied was kept
  std::shared_ptr<const Integers> integers = nullptr;  // null where the product is one of floats
  Tensor bfloat16 = {};                                // undefined where it is none of these

  at::IntArrayRef sizes() const {
    if (value.defined()) return value.sizes();
    return integers ? integers->q.sizes() : bfloat16.sizes();
  }
  std::int64_t size(std::int64_t d) const { return sizes()[static_cast<std::size_t>(d)]; }
  // For native kernels.
  Tensor floats() const { return bfloat16.defined() ? bfloat16 : value.contiguous(); }
};

// Whether the products of a layer of this shape are integer ones.
bool integer_products_in_use(const numerics::ConvShape& s);

// Activations or gradients [N, …]: rounded, if asked for and not done before, one group a sample;
// or to bfloat16, if native products take that.
Factor activation(Factor x, bool integer);
// The same of what lies side by side, rounded; it has no values.
Factor activation(const SideBySide& x);
// A parameter [P, …]: one group a slice, or one for all if they are one tensor.
Factor parameter(Factor w, bool integer);
// The integers of a parameter's slice.
numerics::Rounded slice_of(const Factor& w, std::int64_t index);

// `uses` equal ones, with the same integers (record.h).
std::vector<Factor> fork(const Factor& x, int uses);
// What a backward pass needs of it: not the values, if what is multiplied does and nobody will
// differentiate twice (numerics.h).
Factor kept(Factor x);
// Error(kBug) if gradients of gradients are asked for and the values were not kept.
void require_values(const Factor& x);

}  // namespace lockstep::ops
