// SGD with momentum in PyTorch's form; the arithmetic of an element is in numerics/update.h.
#include "lockstep/optim/sgd.h"

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "lockstep/optim/optimizer.h"
#include "optim/kinds.h"

namespace lockstep::optim {

namespace {

class Sgd : public Optimizer {
 public:
  Sgd(const Options& options, const std::vector<at::Tensor>& parameters) : options_(options) {
    slots_ = {zeros_like_each(parameters)};
  }

  std::vector<std::string> slot_names() const override { return {"momentum"}; }

  void update(std::int64_t t, double lr, const std::vector<at::Tensor>& parameters,
              const std::vector<at::Tensor>& gradients) override {
    LOCKSTEP_ASSERT(t >= 1 && parameters.size() == gradients.size() &&
                    parameters.size() == slots_[0].size());
    const numerics::Sgd s{static_cast<float>(lr),
                          static_cast<float>(options_.kind.as<SgdOptions>().momentum),
                          static_cast<float>(options_.weight_decay)};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      LOCKSTEP_ASSERT(gradients[i].sizes() == parameters[i].sizes(), std::to_string(i));
      at::Tensor p = ops::bare(parameters[i]);
      ops::device().sgd(s, p.numel(), ops::read(gradients[i]), ops::write(p),
                        ops::write(slots_[0][i]));
    }
  }

 private:
  Options options_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const Options& options,
                                    const std::vector<at::Tensor>& parameters) {
  return std::make_unique<Sgd>(options, parameters);
}

}  // namespace lockstep::optim
