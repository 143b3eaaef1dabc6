// Optimiser updates, element-wise and in place. Scalars are computed on the host in double
// (host_math.h) and rounded once to binary32. Each line below is one rounded operation (or fma) in
// this order.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/shapes.h"

namespace lockstep::numerics {

class Updates {
 public:
  // AdamW (Loshchilov & Hutter 2019; Kingma & Ba 2015), step t counted from 1:
  //   m = fma(beta1, m, (1-beta1)*g);  v = fma(beta2, v, (1-beta2)*(g*g))
  //   d = sqrt(v) * inv_sqrt_bias2 + eps   (product rounded, then the sum)
  //   p = p * decay;  p = p - step_size * (m / d)   (quotient, product, difference each rounded)
  // with one_minus_beta = float(1-beta), step_size = lr / (1 - beta1^t), inv_sqrt_bias2 = 1/sqrt(1
  // - beta2^t), decay = 1 - lr*weight_decay.
  virtual void adamw(const AdamW& s, std::int64_t n, const float* g, float* p, float* m,
                     float* v) = 0;

  // SGD with momentum (Sutskever et al. 2013; PyTorch's form): g' = fma(weight_decay, p, g);
  //   u = fma(momentum, u, g');  p = fma(-lr, u, p)
  virtual void sgd(const Sgd& s, std::int64_t n, const float* g, float* p, float* u) = 0;

  // Lion (Chen et al. 2023), sign(x) 1, -1, or x + 0 for a zero and for what is not a number:
  //   u = fma(beta1, m, (1-beta1)*g);  p = fma(-decay, p, p);  p = fma(-lr, sign(u), p)
  //   m = fma(beta2, m, (1-beta2)*g)
  // with one_minus_beta = float(1-beta), decay = lr*weight_decay.
  virtual void lion(const Lion& s, std::int64_t n, const float* g, float* p, float* m) = 0;

  // Exponential moving average: e = fma(one_minus_decay, p - e, e)
  virtual void ema(float one_minus_decay, std::int64_t n, const float* p, float* e) = 0;

 protected:
  ~Updates() = default;
};

}  // namespace lockstep::numerics
