// A gradient that is differentiated again, for tests of what products keep for it.
#pragma once

#include <optional>

#include "lockstep/ops/numerics.h"
#include "lockstep/ops/ops.h"
#include "ops/finite_differences.h"

namespace lockstep::ops::testing {

inline Tensor leaf(const Tensor& x) {
  Tensor copy = bare(x);
  copy.set_requires_grad(true);
  return copy;
}

// |d(sum of weighted y)/dx|^2 of a convolution, differentiated by its weights; `twice`: its forward
// pass says that it will be.
inline Tensor slope_by_weights(const LaneBlocks& lanes, const Tensor& x, const Tensor& w,
                               bool twice) {
  Tensor dx;
  {
    std::optional<TwiceScope> scope;
    if (twice) scope.emplace();
    const Tensor y = conv2d(lanes, x, w, {}, {.stride = 1, .pad = 1});
    dx = gradients({y}, {values(y.sizes(), 3)}, {x}, /*create_graph=*/true).front();
  }
  const Tensor squares = row_squares(dx);
  return gradients({squares}, {filled(squares.sizes(), 1.0F)}, {w}, false).front();
}

}  // namespace lockstep::ops::testing
