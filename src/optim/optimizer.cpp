#include "lockstep/optim/optimizer.h"

#include "lockstep/core/error.h"
#include "lockstep/ops/record.h"
#include "optim/kinds.h"

namespace lockstep::optim {

std::vector<at::Tensor> zeros_like_each(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& p : parameters) zeros.push_back(ops::filled(p.sizes(), 0.0f));
  return zeros;
}

std::vector<numerics::UpdatedTensor> Optimizer::tensors(
    const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& gradients) const {
  LOCKSTEP_ASSERT(parameters.size() == gradients.size() && parameters.size() == slots_[0].size());
  std::vector<numerics::UpdatedTensor> all(parameters.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    LOCKSTEP_ASSERT(gradients[i].sizes() == parameters[i].sizes(), std::to_string(i));
    at::Tensor p = ops::bare(parameters[i]);
    all[i].n = p.numel();
    all[i].g = ops::read(gradients[i]);
    all[i].p.values = ops::write(p);
    for (const std::vector<at::Tensor>& slot : slots_) {
      at::Tensor values = slot[i];
      all[i].slots.push_back({ops::write(values)});
    }
  }
  return all;
}

double weight_decay_of(const Options& options, const at::Tensor& parameter) {
  return options.decay == "matrices" && parameter.dim() < 2 ? 0.0 : options.weight_decay;
}

std::unique_ptr<Optimizer> make_optimizer(const Options& options,
                                          const std::vector<at::Tensor>& parameters) {
  check_schedule(options);
  return options.kind.row("kind").make(options, parameters);
}

}  // namespace lockstep::optim
