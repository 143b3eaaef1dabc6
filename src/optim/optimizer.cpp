#include "lockstep/optim/optimizer.h"

#include "lockstep/core/error.h"
#include "lockstep/ops/record.h"
#include "lockstep/optim/learning_rate.h"
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
  if (options.kind == "adamw") return make_adamw(options, parameters);
  if (options.kind == "sgd") return make_sgd(options, parameters);
  throw Error(Code::kUsage, "kind: there is no optimiser '" + options.kind + "'",
              "use adamw or sgd");
}

}  // namespace lockstep::optim
