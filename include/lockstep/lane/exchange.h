// The exchange: partials of every rank become whole tensors, the same on all ranks.
//
// All-to-all (each rank receives its slice of everything, cut at tiles), the tree over lanes
// locally, all-gather. The network only moves bytes.
#pragma once

#include <vector>

#include "lockstep/lane/context.h"

namespace lockstep::lane {

// partials[i] is [P, ...]: returns [...], the tree over all lanes.
// Collective: yes. Bits: partials and plan.lanes(), never the world size.
std::vector<Tensor> exchange(const Plan& plan, comm::Group& group,
                             const std::vector<Tensor>& partials);

// Backward of a phase's loss ([P] partial sums; the loss is their tree sum) and the exchange, then
// the backward pass of the parameter graph: d(loss)/d(parameters[i]), whole. `seed` is the gradient
// of the final loss with respect to the sum (1/batch for a mean over samples). Every parameter must
// be reached. Collective: yes.
struct PhaseGradients {
  float loss_sum = 0;             // tree over all lanes of the [P] partial sums
  std::vector<Tensor> gradients;  // one a parameter
};
PhaseGradients backward(Context& context, const Tensor& loss, float seed,
                        const std::vector<Tensor>& parameters);

}  // namespace lockstep::lane
