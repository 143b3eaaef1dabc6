#include "lockstep/optim/optimizer.h"

#include "lockstep/ops/record.h"
#include "optim/kinds.h"

namespace lockstep::optim {

std::vector<at::Tensor> zeros_like_each(const std::vector<at::Tensor>& parameters) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& p : parameters) zeros.push_back(ops::filled(p.sizes(), 0.0f));
  return zeros;
}

std::unique_ptr<Optimizer> make_optimizer(const Options& options,
                                          const std::vector<at::Tensor>& parameters) {
  check_schedule(options);
  return options.kind.row("kind").make(options, parameters);
}

}  // namespace lockstep::optim
