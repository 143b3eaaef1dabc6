// One element of an optimiser's update (update.h), each line one rounded operation or fma.
#pragma once

#include "lockstep/numerics/spec/operations.h"
#include "lockstep/numerics/spec/update_scalars.h"

LOCKSTEP_FMA_BEGIN
namespace lockstep::numerics::spec {

LOCKSTEP_HD static inline void adamw(const AdamW& s, float g, float& p, float& m, float& v) {
  m = fma(s.beta1, m, s.one_minus_beta1 * g);
  v = fma(s.beta2, v, s.one_minus_beta2 * (g * g));
  const float d = sqrt(v) * s.inv_sqrt_bias2 + s.eps;
  p = p * s.decay;
  p = p - s.step_size * (m / d);
}

LOCKSTEP_HD static inline void sgd(const Sgd& s, float g, float& p, float& u) {
  const float decayed = fma(s.weight_decay, p, g);
  u = fma(s.momentum, u, decayed);
  const float step = s.nesterov ? fma(s.momentum, u, decayed) : u;
  p = fma(-s.lr, step, p);
}

LOCKSTEP_HD static inline float sign(float x) {
  if (x > 0.0F) return 1.0F;
  return x < 0.0F ? -1.0F : x + 0.0F;
}

LOCKSTEP_HD static inline void lion(const Lion& s, float g, float& p, float& m) {
  const float u = fma(s.beta1, m, s.one_minus_beta1 * g);
  p = fma(-s.decay, p, p);
  p = fma(-s.lr, sign(u), p);
  m = fma(s.beta2, m, s.one_minus_beta2 * g);
}

LOCKSTEP_HD static inline void average(float one_minus_decay, float p, float& e) {
  e = fma(one_minus_decay, p - e, e);
}

}  // namespace lockstep::numerics::spec
LOCKSTEP_FMA_END
