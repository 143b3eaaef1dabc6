// SGD with momentum in PyTorch's form; the arithmetic of an element is in numerics/update.h.
#include "lockstep/optim/sgd.h"

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

  numerics::UpdateRule rule(std::int64_t, double lr) const override {
    return numerics::Sgd{static_cast<float>(lr),
                         static_cast<float>(options_.kind.as<SgdOptions>().momentum),
                         static_cast<float>(options_.weight_decay)};
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
