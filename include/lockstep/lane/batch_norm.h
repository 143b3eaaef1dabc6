// Batch normalisation over all lanes of all ranks ("SyncBN" with a fixed order).
#pragma once

#include "lockstep/lane/context.h"

namespace lockstep::lane {

struct BatchNormState {
  Tensor running_mean,
      running_var;  // [C], updated in training: r = fma(momentum, batch - r, r), unbiased variance
  float momentum = 0.1f;
  float eps = 1e-5f;
};

// x [N, ..., C], gamma, beta [P, C] -> same shape. Training: per-lane moments, gathered, merged in
// the tree (numerics/norm.h). Evaluation: running statistics. `track`: update the running
// statistics (a generator's in its own phase only). Once differentiable. Error(kUsage): one value a
// channel of all lanes. Collective: in training, forward and backward. Bits: values and lanes.
Tensor batch_norm(Context& context, const Tensor& x, const Tensor& gamma, const Tensor& beta,
                  BatchNormState& state, bool track);

}  // namespace lockstep::lane
