// Euler's method: from t = 1, noise, in equal steps along the velocity to t = 0. Nothing is
// clipped.
#include "lockstep/objective/euler.h"

#include "lockstep/core/error.h"
#include "lockstep/objective/sampler.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "objective/kinds.h"

namespace lockstep::objective {
namespace {

struct EulerStep {
  Time t;
  float length;          // of the step, negative
  Combination velocity;  // of x and the prediction
};

std::vector<EulerStep> plan(std::int64_t steps, const Process& process) {
  const auto part = [n = static_cast<double>(steps)](std::int64_t left) {
    return static_cast<double>(left) / n;
  };
  if (steps < 1 || steps > kMostTimesteps)
    throw Error(Code::kUsage, "sampler_steps: " + std::to_string(steps) + " steps of euler",
                "use 1 to " + std::to_string(kMostTimesteps));
  std::vector<EulerStep> plan;
  for (std::int64_t left = steps; left > 0; --left) {
    const auto t = static_cast<Time>(part(left));
    plan.push_back({t, static_cast<float>(part(left - 1) - part(left)), process.velocity(t)});
  }
  return plan;
}

class Euler final : public Sampler {
 public:
  explicit Euler(std::vector<EulerStep> steps) : steps_(std::move(steps)) {}

  at::Tensor sample(at::Tensor x, const Predict& predict, const Noise& /*more*/) const override {
    numerics::Device& device = ops::device();
    const std::int64_t size = x.numel();
    float* const now = ops::write(x);
    at::Tensor velocity = ops::empty(x.sizes());
    for (const EulerStep& step : steps_) {
      const at::Tensor predicted = predict(x, step.t);
      device.combine(size, step.velocity.of_first, now, step.velocity.of_second,
                     ops::read(predicted), ops::write(velocity));
      device.scale_add(size, step.length, ops::read(velocity), now, now);
    }
    return x;
  }

 private:
  const std::vector<EulerStep> steps_;
};

}  // namespace

std::unique_ptr<Sampler> make_euler(const Kind<SamplerKind>& chosen, const Process& process) {
  return std::make_unique<Euler>(plan(chosen.as<EulerOptions>().steps, process));
}

std::int64_t& steps_of_euler(Kind<SamplerKind>& chosen) {
  return chosen.as<EulerOptions>().steps;
}

}  // namespace lockstep::objective
