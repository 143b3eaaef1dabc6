// Pictures as rows of square patches, and back: movement alone.
#include "lockstep/core/error.h"
#include "lockstep/ops/ops.h"

namespace lockstep::ops {

Tensor patches(const Tensor& x_in, std::int64_t side) {
  const Tensor x = bare(x_in).contiguous();
  const std::int64_t n = x.size(0), h = x.size(1), w = x.size(2), c = x.size(3);
  LOCKSTEP_ASSERT(h % side == 0 && w % side == 0, "patches do not cover the picture");
  Tensor out = x.view({n, h / side, side, w / side, side, c})
                   .permute({0, 1, 3, 2, 4, 5})
                   .clone(at::MemoryFormat::Contiguous)
                   .view({n, (h / side) * (w / side), side * side * c});
  return record("patches", {x_in}, out, Differentiable::kTwice,
                [=](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  return {from_patches(g, side, h, w)};
                });
}

Tensor from_patches(const Tensor& x_in, std::int64_t side, std::int64_t height,
                    std::int64_t width) {
  const Tensor x = bare(x_in).contiguous();
  const std::int64_t n = x.size(0), c = x.size(2) / (side * side);
  LOCKSTEP_ASSERT(x.size(1) * side * side == height * width && c * side * side == x.size(2));
  Tensor out = x.view({n, height / side, width / side, side, side, c})
                   .permute({0, 1, 3, 2, 4, 5})
                   .clone(at::MemoryFormat::Contiguous)
                   .view({n, height, width, c});
  return record(
      "from_patches", {x_in}, out, Differentiable::kTwice,
      [side](const Tensor& g, const std::vector<bool>&) -> Tensors { return {patches(g, side)}; });
}

}  // namespace lockstep::ops
