// Private: values at equal steps in memory, such as those of a channel.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/shapes.h"
#include "numerics/cuda/thread.h"
#include "numerics/cuda/vector.h"

namespace lockstep::numerics::cuda {

// Values at equal steps in memory: of one channel, position after position.
template <class T>
struct Column {
  T* first;
  std::int64_t step;
  LOCKSTEP_DEVICE T& operator()(std::int64_t k) const { return first[k * step]; }
};

// Rows of c values, perhaps cut in two, for kernels: without a branch.
template <class T>
Sides<T> cut_somewhere(const Sides<T>& x, std::int64_t c) {
  return {x.left, x.right == nullptr ? c : x.cut, x.right};
}

// Whether such rows can be loaded and stored in fours.
template <class T>
bool in_fours(const Sides<T>& x, std::int64_t c) {
  return in_fours(x.left, {x.cut, c}) && (x.right == nullptr || in_fours(x.right, {}));
}

// Channel j of such rows, from a position on.
template <class T>
LOCKSTEP_DEVICE inline Column<T> column_of(const Sides<T>& x, std::int64_t c, std::int64_t position,
                                           std::int64_t j) {
  const bool left = j < x.cut;
  const std::int64_t step = left ? x.cut : c - x.cut;
  return {(left ? x.left + j : x.right + (j - x.cut)) + position * step, step};
}

}  // namespace lockstep::numerics::cuda
