// Lion: the sign of a mean of moment and gradient; the arithmetic is in numerics/update.h.
#include "lockstep/optim/lion.h"

#include "lockstep/optim/optimizer.h"
#include "optim/kinds.h"

namespace lockstep::optim {
namespace {

class Lion final : public Optimizer {
 public:
  Lion(const Options& options, const std::vector<at::Tensor>& parameters)
      : own_(options.kind.as<LionOptions>()) {
    slots_ = {zeros_like_each(parameters)};
  }

  std::vector<std::string> slot_names() const override { return {"m"}; }

  numerics::UpdateRule rule(std::int64_t, double lr, double weight_decay) const override {
    return numerics::Lion{.beta1 = static_cast<float>(own_.beta1),
                          .one_minus_beta1 = static_cast<float>(1.0 - own_.beta1),
                          .beta2 = static_cast<float>(own_.beta2),
                          .one_minus_beta2 = static_cast<float>(1.0 - own_.beta2),
                          .lr = static_cast<float>(lr),
                          .decay = static_cast<float>(lr * weight_decay)};
  }

 private:
  LionOptions own_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lion(const Options& options,
                                     const std::vector<at::Tensor>& parameters) {
  return std::make_unique<Lion>(options, parameters);
}

}  // namespace lockstep::optim
