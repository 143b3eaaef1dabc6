#include "objective/slopes.h"

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"

namespace lockstep::objective {

std::vector<SlopeStep> slope_steps(const std::string& sampler, std::int64_t steps,
                                   const Process& process) {
  if (steps < 1 || steps > kMostTimesteps)
    throw Error(Code::kUsage, "sampler_steps: " + std::to_string(steps) + " steps of " + sampler,
                "use 1 to " + std::to_string(kMostTimesteps));
  const std::vector<double> times = process.times(steps);
  std::vector<SlopeStep> plan;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    const auto t = static_cast<Time>(times[i]);
    plan.push_back({t, static_cast<float>(times[i + 1] - times[i]), process.velocity(t)});
  }
  return plan;
}

at::Tensor slope_at(const SlopeStep& step, const at::Tensor& x, const Predict& predict) {
  const at::Tensor predicted = predict(x, step.t);
  at::Tensor slope = ops::empty(x.sizes());
  ops::device().combine(x.numel(), step.slope.a, ops::read(x), step.slope.b, ops::read(predicted),
                        ops::write(slope));
  return slope;
}

}  // namespace lockstep::objective
