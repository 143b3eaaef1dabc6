// Lion: the sign of a mean of moment and gradient; the arithmetic is in numerics/update.h.
#include "lockstep/optim/lion.h"

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "lockstep/optim/optimizer.h"
#include "optim/kinds.h"

namespace lockstep::optim {
namespace {

class Lion final : public Optimizer {
 public:
  Lion(const Options& options, const std::vector<at::Tensor>& parameters)
      : own_(options.kind.as<LionOptions>()), weight_decay_(options.weight_decay) {
    slots_ = {zeros_like_each(parameters)};
  }

  std::vector<std::string> slot_names() const override { return {"m"}; }

  void update(std::int64_t t, double lr, const std::vector<at::Tensor>& parameters,
              const std::vector<at::Tensor>& gradients) override {
    LOCKSTEP_ASSERT(t >= 1 && parameters.size() == gradients.size() &&
                    parameters.size() == slots_[0].size());
    const numerics::Lion s{.beta1 = static_cast<float>(own_.beta1),
                           .one_minus_beta1 = static_cast<float>(1.0 - own_.beta1),
                           .beta2 = static_cast<float>(own_.beta2),
                           .one_minus_beta2 = static_cast<float>(1.0 - own_.beta2),
                           .lr = static_cast<float>(lr),
                           .decay = static_cast<float>(lr * weight_decay_)};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      LOCKSTEP_ASSERT(gradients[i].sizes() == parameters[i].sizes(), std::to_string(i));
      at::Tensor p = ops::bare(parameters[i]);
      ops::device().lion(s, p.numel(), ops::read(gradients[i]), ops::write(p),
                         ops::write(slots_[0][i]));
    }
  }

 private:
  LionOptions own_;
  double weight_decay_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lion(const Options& options,
                                     const std::vector<at::Tensor>& parameters) {
  return std::make_unique<Lion>(options, parameters);
}

}  // namespace lockstep::optim
