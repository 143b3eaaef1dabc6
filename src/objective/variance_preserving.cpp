#include "lockstep/objective/variance_preserving.h"

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::objective {
namespace {

namespace host = numerics::host;

// What of the process is known of one timestep.
struct Timestep {
  Combination mix, x0, noise, velocity;
  std::optional<float> weight = {};
};

float min_snr_weight(double alpha_bar, bool v, double gamma) {
  const double snr = alpha_bar / (1.0 - alpha_bar);
  return static_cast<float>(std::min(snr, gamma) / (v ? snr + 1.0 : snr));
}

Timestep timestep_of(double alpha_bar, bool v) {
  const double signal = host::sqrt(alpha_bar), noise = host::sqrt(1.0 - alpha_bar);
  const auto rounded = [](double first, double second) {
    return Combination{static_cast<float>(first), static_cast<float>(second)};
  };
  if (v)
    return {.mix = rounded(signal, noise),
            .x0 = rounded(signal, -noise),
            .noise = rounded(noise, signal),
            .velocity = {0, 1}};
  return {.mix = rounded(signal, noise),
          .x0 = rounded(1.0 / signal, -noise / signal),
          .noise = {0, 1},
          .velocity = rounded(-noise / signal, 1.0 / signal)};
}

class VariancePreserving final : public Process {
 public:
  VariancePreserving(NoiseSchedule schedule, bool v, std::optional<double> min_snr_gamma)
      : schedule_(std::move(schedule)), v_(v) {
    for (const double alpha_bar : schedule_.alpha_bar) {
      timesteps_.push_back(timestep_of(alpha_bar, v));
      if (min_snr_gamma) timesteps_.back().weight = min_snr_weight(alpha_bar, v, *min_snr_gamma);
    }
  }

  Time drawn(const numerics::Stream& stream, std::uint64_t position) const override {
    const auto timesteps = static_cast<std::uint32_t>(timesteps_.size());
    return static_cast<Time>(numerics::draw_below(stream, position, 0, timesteps));
  }
  Combination mix(Time t) const override { return at(t).mix; }
  std::optional<Combination> target(Time t) const override {
    if (!v_) return std::nullopt;
    const auto [signal, noise] = mix(t);
    return Combination{signal, -noise};
  }
  std::optional<float> weight(Time t) const override { return at(t).weight; }
  Combination x0(Time t) const override { return at(t).x0; }
  Combination noise(Time t) const override { return at(t).noise; }
  Combination velocity(Time t) const override { return at(t).velocity; }
  const NoiseSchedule& schedule() const override { return schedule_; }

 private:
  const Timestep& at(Time t) const { return timesteps_.at(static_cast<std::size_t>(t)); }

  const NoiseSchedule schedule_;
  const bool v_;
  std::vector<Timestep> timesteps_;
};

}  // namespace

std::unique_ptr<Process> make_variance_preserving(NoiseSchedule schedule,
                                                  const std::string& prediction,
                                                  std::optional<double> min_snr_gamma) {
  if (prediction != "epsilon" && prediction != "v") {
    throw Error(Code::kUsage, "prediction: there is no prediction '" + prediction + "'",
                "use epsilon or v");
  }
  return std::make_unique<VariancePreserving>(std::move(schedule), prediction == "v",
                                              min_snr_gamma);
}

}  // namespace lockstep::objective
