#include "lockstep/objective/sampler.h"
#include "lockstep/objective/sampler_steps.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "objective/kinds.h"

namespace lockstep::objective {
namespace {

using at::Tensor;

class LinearSampler final : public Sampler {
 public:
  LinearSampler(std::vector<SamplerStep> steps, bool clips)
      : steps_(std::move(steps)), clips_(clips) {}

  Tensor sample(Tensor x, const Predict& predict, const Noise& more) const override {
    numerics::Device& device = ops::device();
    Tensor x0 = ops::empty(x.sizes());
    const std::int64_t size = x.numel();
    float *const now = ops::write(x), *const picture = ops::write(x0);
    for (const SamplerStep& step : steps_) {
      const Tensor predicted = predict(x, static_cast<Time>(step.t));
      device.combine(size, step.x0.a, now, step.x0.b, ops::read(predicted), picture);
      if (clips_) device.clamp(size, -1.0F, 1.0F, picture, picture);
      device.combine(size, step.next.a, picture, step.next.b, now, now);
      if (step.noise != 0.0F) device.scale_add(size, step.noise, ops::read(more(step.t)), now, now);
    }
    return x;
  }
  std::int64_t predictions() const override { return static_cast<std::int64_t>(steps_.size()); }

 private:
  const std::vector<SamplerStep> steps_;
  const bool clips_;
};

}  // namespace

std::unique_ptr<Sampler> make_linear(const Kind<SamplerKind>& chosen, const Process& process) {
  return std::make_unique<LinearSampler>(chosen.row("sampler").plan(chosen, process),
                                         process.bounded());
}

}  // namespace lockstep::objective
