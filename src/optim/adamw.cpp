// AdamW (Loshchilov & Hutter 2019); the arithmetic of an element is in numerics/update.h.
#include "lockstep/optim/adamw.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/optim/optimizer.h"
#include "optim/kinds.h"

namespace lockstep::optim {

namespace {

namespace host = numerics::host;

// Everything in double, rounded once.
numerics::AdamW scalars(const AdamWOptions& o, std::int64_t t, double lr, double weight_decay) {
  LOCKSTEP_ASSERT(t >= 1, std::to_string(t));
  const auto step = static_cast<double>(t);
  const double bias1 = 1.0 - host::pow(o.beta1, step);
  const double bias2 = 1.0 - host::pow(o.beta2, step);
  numerics::AdamW s{};
  s.beta1 = static_cast<float>(o.beta1);
  s.one_minus_beta1 = static_cast<float>(1.0 - o.beta1);
  s.beta2 = static_cast<float>(o.beta2);
  s.one_minus_beta2 = static_cast<float>(1.0 - o.beta2);
  s.eps = static_cast<float>(o.eps);
  s.step_size = static_cast<float>(lr / bias1);
  s.inv_sqrt_bias2 = static_cast<float>(1.0 / host::sqrt(bias2));
  s.decay = static_cast<float>(1.0 - lr * weight_decay);
  return s;
}

class AdamW : public Optimizer {
 public:
  AdamW(const Options& options, const std::vector<at::Tensor>& parameters)
      : own_(options.kind.as<AdamWOptions>()) {
    slots_ = {zeros_like_each(parameters), zeros_like_each(parameters)};
  }

  std::vector<std::string> slot_names() const override { return {"m", "v"}; }

  numerics::UpdateRule rule(std::int64_t t, double lr, double weight_decay) const override {
    return scalars(own_, t, lr, weight_decay);
  }

 private:
  AdamWOptions own_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(const Options& options,
                                      const std::vector<at::Tensor>& parameters) {
  return std::make_unique<AdamW>(options, parameters);
}

}  // namespace lockstep::optim
