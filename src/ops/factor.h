// Inside ops: an operand of a product, with what integer products make of it.
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
  Tensor value;  // undefined where only the integers were kept
  std::shared_ptr<const Integers> integers = nullptr;  // null where the product is one of floats

  at::IntArrayRef sizes() const { return value.defined() ? value.sizes() : integers->q.sizes(); }
  std::int64_t size(std::int64_t d) const { return sizes()[static_cast<std::size_t>(d)]; }
};

// Whether the products of a layer of this shape are integer ones.
bool integer_products_in_use(const numerics::ConvShape& s);

// Activations or gradients [N, …]: rounded, if asked for and not done before, one group a sample.
Factor activation(Factor x, bool integer);
// The same of what lies side by side, rounded; it has no values.
Factor activation(const SideBySide& x);
// A parameter [P, …]: one group a slice, or one for all if they are one tensor.
Factor parameter(Factor w, bool integer);
// The integers of a parameter's slice.
numerics::Rounded slice_of(const Factor& w, std::int64_t index);

// `uses` equal ones, with the same integers (record.h).
std::vector<Factor> fork(const Factor& x, int uses);
// What a backward pass needs of it: not the values, if integers do and nobody will differentiate
// twice (numerics.h).
Factor kept(Factor x);
// Error(kBug) if gradients of gradients are asked for and the values were not kept.
void require_values(const Factor& x);

}  // namespace lockstep::ops
