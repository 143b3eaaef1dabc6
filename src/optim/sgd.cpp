// SGD with momentum, plain or Nesterov's, in PyTorch's form; the arithmetic of an element is in
// numerics/update.h.
#include "lockstep/optim/sgd.h"

#include "lockstep/optim/optimizer.h"
#include "optim/kinds.h"

namespace lockstep::optim {

namespace {

class Sgd : public Optimizer {
 public:
  Sgd(const Options& options, const std::vector<at::Tensor>& parameters)
      : own_(options.kind.as<SgdOptions>()) {
    slots_ = {zeros_like_each(parameters)};
  }

  std::vector<std::string> slot_names() const override { return {"momentum"}; }

  numerics::UpdateRule rule(std::int64_t, double lr, double weight_decay) const override {
    return numerics::Sgd{.lr = static_cast<float>(lr),
                         .momentum = static_cast<float>(own_.momentum),
                         .weight_decay = static_cast<float>(weight_decay),
                         .nesterov = own_.nesterov};
  }

 private:
  SgdOptions own_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const Options& options,
                                    const std::vector<at::Tensor>& parameters) {
  return std::make_unique<Sgd>(options, parameters);
}

}  // namespace lockstep::optim
