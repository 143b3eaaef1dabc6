// Softmax over the last dimension: m = max of the row; e_j = exp(scale*x_j - m') with scale*x_j
// rounded, m' = max of those; s = blocked chain of e_j in order; y_j = e_j / s. Backward: d =
// blocked fma chain of y_j*dy_j; dx_j = scale * (y_j * (dy_j - d)). Bits: values, cols.
#pragma once

#include <cstdint>

namespace lockstep::numerics {

class Softmax {
 public:
  virtual void softmax(std::int64_t rows, std::int64_t cols, float scale, const float* x,
                       float* y) = 0;
  virtual void softmax_backward(std::int64_t rows, std::int64_t cols, float scale, const float* y,
                                const float* dy, float* dx) = 0;

 protected:
  ~Softmax() = default;
};

}  // namespace lockstep::numerics
