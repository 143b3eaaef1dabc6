// Scalars of an optimiser's step (update.h), for every device.
#pragma once

namespace lockstep::numerics {

struct AdamW {
  float beta1, one_minus_beta1, beta2, one_minus_beta2, eps, step_size, inv_sqrt_bias2, decay;
};
struct Sgd {
  float lr, momentum, weight_decay;
  bool nesterov = false;
};
struct Lion {
  float beta1, one_minus_beta1, beta2, one_minus_beta2, lr, decay;
};

}  // namespace lockstep::numerics
