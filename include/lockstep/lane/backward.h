// Backward of a phase, and the exchange meanwhile: the rank's lanes go through it at once or in
// portions, one after the other or side by side, and the result has the same bits.
#pragma once

#include <memory>
#include <vector>

#include "lockstep/lane/context.h"
#include "lockstep/lane/evidence.h"
#include "lockstep/ops/device.h"

namespace lockstep::lane {

struct PhaseGradients {
  Tensor loss;                         // [1]: tree over all lanes of the [P] partial sums
  std::vector<Tensor> gradients;       // d(loss)/d(parameters[i]), one a parameter
  std::vector<LaneEvidence> of_lanes;  // of this rank's isolated lanes

  float loss_sum() const { return ops::value_of(loss); }
};

// One phase's backward pass. `all` is the context of passes over all lanes at once: of the one
// portion, or of what a network that mixes samples gave to every portion. `seed` is the gradient of
// the final loss with respect to the sum of the [P] partial sums (1/batch for a mean over samples).
//
// Partials wait for those of the other portions, and leave in the backward pass that comes last.
// `kept`: of the gradient of parameter i only this rank's slice by kept[i], flat; empty: all whole.
// Errors: Error(kDiffer) of the exchange. Bits: not of the portions, their order and threads,
// `kept` or the world size.
class Backward {
 public:
  // `all` and the parameters' memory must outlive this.
  Backward(Context& all, std::vector<Portion> portions, float seed, std::vector<Tensor> parameters,
           std::vector<Division> kept = {});
  ~Backward();

  // One portion's, each once, in any order, from several threads at a time: its loss [P], with
  // graph. `context` is `all` or a portion's own. Returns d(loss)/d(given) where that is defined:
  // what came out of `all`, cut off there.
  // Collective: the last portion's, and where a pass is.
  Tensor portion(Context& context, const Tensor& loss, const Tensor& given = {});
  // After the last portion: from what `all` gave and its gradient to what entered `all`.
  void given(const Tensor& given, const Tensor& gradient);
  // Every parameter must be reached. Collective: yes.
  PhaseGradients finish();

 private:
  class Sums;
  std::unique_ptr<Sums> sums_;
};

// The same for all lanes at once.
PhaseGradients backward(Context& context, const Tensor& loss, float seed,
                        const std::vector<Tensor>& parameters);
// The same backward pass for a shadow: what its lane contributes, and nothing leaves.
LaneEvidence backward_of_shadow(Context& shadow, const Tensor& loss, float seed);

}  // namespace lockstep::lane
