#include "lockstep/objective/variance_preserving.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::objective {
namespace {

namespace host = numerics::host;

// What of the process is known of one timestep.
struct Timestep {
  LinearCombination mix;
  std::optional<LinearCombination> target = {};
  LinearCombination x0, noise, velocity;
  std::optional<float> weight = {};
};

enum class Prediction { kEpsilon, kV, kX0 };
// As recipes write them, in that order.
constexpr std::array<std::string_view, 3> kPredictions = {"epsilon", "v", "x0"};

Timestep timestep_of(double alpha_bar, Prediction prediction) {
  const double signal = host::sqrt(alpha_bar), noise = host::sqrt(1.0 - alpha_bar);
  const auto rounded = [](double first, double second) {
    return LinearCombination{static_cast<float>(first), static_cast<float>(second)};
  };
  const LinearCombination mix = rounded(signal, noise), itself = {0, 1};
  if (prediction == Prediction::kV)
    return {.mix = mix,
            .target = LinearCombination{mix.a, -mix.b},
            .x0 = rounded(signal, -noise),
            .noise = rounded(noise, signal),
            .velocity = itself};
  if (prediction == Prediction::kX0)
    return {.mix = mix,
            .target = itself,
            .x0 = itself,
            .noise = rounded(1.0 / noise, -signal / noise),
            .velocity = rounded(signal / noise, -1.0 / noise)};
  return {.mix = mix,
          .x0 = rounded(1.0 / signal, -noise / signal),
          .noise = itself,
          .velocity = rounded(-noise / signal, 1.0 / signal)};
}

// Hang et al. 2023, for the squared error of each prediction.
float min_snr_weight(double alpha_bar, Prediction prediction, double gamma) {
  const double snr = alpha_bar / (1.0 - alpha_bar), bounded = std::min(snr, gamma);
  if (prediction == Prediction::kV) return static_cast<float>(bounded / (snr + 1.0));
  if (prediction == Prediction::kX0) return static_cast<float>(bounded);
  return static_cast<float>(bounded / snr);
}

class VariancePreserving final : public Process {
 public:
  VariancePreserving(NoiseSchedule schedule, Prediction prediction,
                     std::optional<double> min_snr_gamma)
      : schedule_(std::move(schedule)) {
    for (const double alpha_bar : schedule_.alpha_bar) {
      timesteps_.push_back(timestep_of(alpha_bar, prediction));
      if (min_snr_gamma)
        timesteps_.back().weight = min_snr_weight(alpha_bar, prediction, *min_snr_gamma);
    }
  }

  Time sample_time(const numerics::Stream& stream, std::uint64_t position) const override {
    const auto timesteps = static_cast<std::uint32_t>(timesteps_.size());
    return static_cast<Time>(numerics::draw_below(stream, position, 0, timesteps));
  }
  LinearCombination noising(Time t) const override { return at(t).mix; }
  std::optional<LinearCombination> target(Time t) const override { return at(t).target; }
  std::optional<float> weight(Time t) const override { return at(t).weight; }
  LinearCombination x0(Time t) const override { return at(t).x0; }
  LinearCombination noise(Time t) const override { return at(t).noise; }
  LinearCombination velocity(Time t) const override { return at(t).velocity; }
  const NoiseSchedule& schedule() const override { return schedule_; }

 private:
  const Timestep& at(Time t) const { return timesteps_.at(static_cast<std::size_t>(t)); }

  const NoiseSchedule schedule_;
  std::vector<Timestep> timesteps_;
};

}  // namespace

std::unique_ptr<Process> make_variance_preserving(NoiseSchedule schedule,
                                                  const std::string& prediction,
                                                  std::optional<double> min_snr_gamma) {
  const auto found = std::ranges::find(kPredictions, prediction);
  if (found == kPredictions.end())
    throw Error(Code::kUsage, "prediction: there is no prediction '" + prediction + "'",
                "use epsilon, v or x0");
  return std::make_unique<VariancePreserving>(
      std::move(schedule), static_cast<Prediction>(found - kPredictions.begin()), min_snr_gamma);
}

}  // namespace lockstep::objective
