
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"

namespace lockstep::ops {

Tensor upsample_nearest(const Tensor& x_in, std::int64_t height, std::int64_t width) {
  const Tensor x = bare(x_in).contiguous();
  const std::int64_t n = x.size(0), h = x.size(1), w = x.size(2), c = x.size(3);
  Tensor y = empty({n, height, width, c});
  device().upsample_nearest(n, h, w, c, height, width, read(x), write(y));
  return record("upsample_nearest", {x_in}, y, Differentiable::kOnce,
                [=](const Tensor& dy, const std::vector<bool>&) -> Tensors {
                  Tensor dx = empty({n, h, w, c});
                  device().upsample_nearest_backward(n, h, w, c, height, width, read(dy),
                                                     write(dx));
                  return {dx};
                });
}

}  // namespace lockstep::ops
