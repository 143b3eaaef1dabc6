// Lion: the sign of a mean of moment and gradient; the arithmetic is in numerics/update.h.
#include "lockstep/optim/lion.h"

#include "lockstep/ops/device.h"
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

  Rule rule(std::int64_t, double lr) override {
    const numerics::Lion s{.beta1 = static_cast<float>(own_.beta1),
                           .one_minus_beta1 = static_cast<float>(1.0 - own_.beta1),
                           .beta2 = static_cast<float>(own_.beta2),
                           .one_minus_beta2 = static_cast<float>(1.0 - own_.beta2),
                           .lr = static_cast<float>(lr),
                           .decay = static_cast<float>(lr * weight_decay_)};
    return [this, s](std::size_t i, std::int64_t n, const float* g, float* p) {
      ops::device().lion(s, n, g, p, slot(0, i));
    };
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
