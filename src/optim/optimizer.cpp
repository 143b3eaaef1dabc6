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

void Optimizer::update(std::int64_t t, double lr, const std::vector<at::Tensor>& parameters,
                       const std::vector<at::Tensor>& gradients) {
  LOCKSTEP_ASSERT(t >= 1 && parameters.size() == gradients.size() &&
                  parameters.size() == slots_[0].size());
  const Rule apply = rule(t, lr);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    LOCKSTEP_ASSERT(gradients[i].sizes() == parameters[i].sizes(), std::to_string(i));
    at::Tensor p = ops::bare(parameters[i]);
    apply(i, p.numel(), ops::read(gradients[i]), ops::write(p));
  }
}

float* Optimizer::slot(std::size_t s, std::size_t i) {
  return ops::write(slots_[s][i]);
}

std::unique_ptr<Optimizer> make_optimizer(const Options& options,
                                          const std::vector<at::Tensor>& parameters) {
  check_schedule(options);
  return options.kind.row("kind").make(options, parameters);
}

}  // namespace lockstep::optim
