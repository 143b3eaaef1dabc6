// Euler's method: along the slope at each step's beginning. Nothing is clipped.
#include "lockstep/objective/euler.h"

#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "objective/kinds.h"
#include "objective/slopes.h"

namespace lockstep::objective {
namespace {

class Euler final : public Sampler {
 public:
  explicit Euler(std::vector<SlopeStep> steps) : steps_(std::move(steps)) {}

  at::Tensor sample(at::Tensor x, const Predict& predict, const Noise& /*more*/) const override {
    float* const now = ops::write(x);
    for (const SlopeStep& step : steps_) {
      const at::Tensor slope = slope_at(step, x, predict);
      ops::device().scale_add(x.numel(), step.length, ops::read(slope), now, now);
    }
    return x;
  }
  std::int64_t predictions() const override { return static_cast<std::int64_t>(steps_.size()); }

 private:
  const std::vector<SlopeStep> steps_;
};

}  // namespace

std::unique_ptr<Sampler> make_euler(const Kind<SamplerKind>& chosen, const Process& process) {
  return std::make_unique<Euler>(slope_steps("euler", chosen.as<EulerOptions>().steps, process));
}

}  // namespace lockstep::objective
