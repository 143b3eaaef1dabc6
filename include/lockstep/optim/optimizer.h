// One optimiser for one network: slots beside the parameters, updated in place by fused kernels.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "lockstep/optim/options.h"

namespace lockstep::optim {

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Names of the per-parameter tensors ("m", "v"; sgd: "momentum"), and the tensors: slots()[s][p],
  // zero at first.
  virtual std::vector<std::string> slot_names() const = 0;
  const std::vector<std::vector<at::Tensor>>& slots() const { return slots_; }
  // Update number t, counted from 1, with learning rate lr. Bits: arguments and tensors.
  virtual void update(std::int64_t t, double lr, const std::vector<at::Tensor>& parameters,
                      const std::vector<at::Tensor>& gradients) = 0;

 protected:
  std::vector<std::vector<at::Tensor>> slots_;
};

// The explicit table: one line an optimiser. Throws Error(kUsage) for an unknown kind.
std::unique_ptr<Optimizer> make_optimizer(const Options& options,
                                          const std::vector<at::Tensor>& parameters);

// Global norm of all gradients: the tree over the tiles of all tensors in order, then sqrt. Scales
// them in place by clip/norm (rounded once) when norm > clip and clip > 0; a norm that is not
// finite scales nothing (the caller stops on it). Returns the norm. Bits: values and shapes.
float clip_by_global_norm(float clip, const std::vector<at::Tensor>& gradients);

}  // namespace lockstep::optim
