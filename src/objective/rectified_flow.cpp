#include "lockstep/objective/rectified_flow.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"

namespace lockstep::objective {
namespace {

class RectifiedFlow : public Process {
 public:
  Time sample_time(const numerics::Stream& stream, std::uint64_t position) const override {
    return numerics::draw_uniform(stream, position);
  }
  float time_input(Time t) const override { return 1000.0F * t; }
  LinearCombination noising(Time t) const override { return {1.0F - t, t}; }
  std::optional<LinearCombination> target(Time) const override { return LinearCombination{1, -1}; }
  LinearCombination x0(Time t) const override { return {1, -t}; }
  LinearCombination noise(Time t) const override { return {1, 1.0F - t}; }
  LinearCombination velocity(Time) const override { return {0, 1}; }
  // Equally spaced.
  std::vector<double> times(std::int64_t steps) const override {
    std::vector<double> times;
    for (std::int64_t left = steps; left >= 0; --left)
      times.push_back(static_cast<double>(left) / static_cast<double>(steps));
    return times;
  }
};

// t = sigmoid(mean + std * normal).
class LogitNormalFlow final : public RectifiedFlow {
 public:
  LogitNormalFlow(double mean, double std)
      : mean_(static_cast<float>(mean)), std_(static_cast<float>(std)) {}

  Time sample_time(const numerics::Stream& stream, std::uint64_t position) const override {
    numerics::Cpu host;
    Time t = 0;
    host.fill_normal(stream, position, 1, 1, &t);
    host.scale_add(1, std_, &t, &mean_, &t);
    host.unary(numerics::Unary::kSigmoid, 1, &t, &t);
    return t;
  }

 private:
  float mean_, std_;
};

}  // namespace

std::unique_ptr<Process> make_rectified_flow(const FlowOptions& o) {
  if (o.times == "uniform") return std::make_unique<RectifiedFlow>();
  if (o.times == "logit-normal")
    return std::make_unique<LogitNormalFlow>(o.logit_mean, o.logit_std);
  throw Error(Code::kUsage, "times: there are no times '" + o.times + "'",
              "use uniform or logit-normal");
}

}  // namespace lockstep::objective
