// One optimiser for one network: slots beside the parameters, updated in place by fused kernels.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "lockstep/numerics/update.h"
#include "lockstep/optim/options.h"

namespace lockstep::optim {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Names of the per-parameter tensors ("m", "v"; sgd: "momentum"), and the tensors: slots()[s][p],
  // zero at first.
  virtual std::vector<std::string> slot_names() const = 0;
  const std::vector<std::vector<at::Tensor>>& slots() const { return slots_; }
  // What update number t, counted from 1, with this learning rate and weight decay does to an
  // element.
  virtual numerics::UpdateRule rule(std::int64_t t, double lr, double weight_decay) const = 0;
  // Parameters with gradients and slots, for an update by ops::device(). Whoever asks for averages
  // and leaves adds them. Valid as long as the tensors are.
  std::vector<numerics::UpdatedTensor> tensors(const std::vector<at::Tensor>& parameters,
                                               const std::vector<at::Tensor>& gradients) const;

 protected:
  std::vector<std::vector<at::Tensor>> slots_;
};

// The weight decay of a parameter, whole: 0 for a vector where the recipe decays matrices alone.
double weight_decay_of(const Options& options, const at::Tensor& parameter);

// Of the table of kinds. Error(kUsage) for an unknown kind or a schedule that cannot be computed.
std::unique_ptr<Optimizer> make_optimizer(const Options& options,
                                          const std::vector<at::Tensor>& parameters);

// Sum of squares of every tile of every gradient, in order: [tiles], where the gradients are. Bits:
// values and shapes.
at::Tensor tile_squares(const std::vector<at::Tensor>& gradients);

// Every element of `gradients` (all, or a rank's slices of them), in place, to [-limit, limit]; 0:
// nothing. A NaN stays. Bits: values.
void clip_by_value(float limit, const std::vector<at::Tensor>& gradients);

// Scales `gradients` (all, or a rank's slices of them) in place by clip/norm (rounded once) where
// norm > clip and clip > 0. The norm is that of `squares`, of all tiles of all gradients in order,
// where the gradients are; one that is not finite scales nothing (training stops on what follows).
// The host does not wait for it. Bits: values.
void clip_by_global_norm(float clip, const at::Tensor& squares,
                         const std::vector<at::Tensor>& gradients);

}  // namespace lockstep::optim
