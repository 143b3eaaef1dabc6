#include "lockstep/objective/process.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::objective {
namespace {

namespace host = numerics::host;

class VariancePreserving final : public Process {
 public:
  VariancePreserving(const Schedule& schedule, bool v) : v_(v) {
    for (const double alpha_bar : schedule.alpha_bar) {
      const double signal = host::sqrt(alpha_bar), noise = host::sqrt(1.0 - alpha_bar);
      mix_.push_back({static_cast<float>(signal), static_cast<float>(noise)});
      x0_.push_back({static_cast<float>(v ? signal : 1.0 / signal),
                     static_cast<float>(v ? -noise : -noise / signal)});
    }
  }

  Time drawn(const numerics::Stream& stream, std::uint64_t position) const override {
    const auto timesteps = static_cast<std::uint32_t>(mix_.size());
    return static_cast<Time>(numerics::draw_below(stream, position, 0, timesteps));
  }
  Combination mix(Time t) const override { return mix_.at(static_cast<std::size_t>(t)); }
  std::optional<Combination> target(Time t) const override {
    if (!v_) return std::nullopt;
    const auto [signal, noise] = mix(t);
    return Combination{signal, -noise};
  }
  Combination x0(Time t) const override { return x0_.at(static_cast<std::size_t>(t)); }

 private:
  const bool v_;
  std::vector<Combination> mix_, x0_;  // by timestep
};

}  // namespace

std::unique_ptr<Process> make_process(const Schedule& schedule, const std::string& prediction) {
  if (prediction != "epsilon" && prediction != "v") {
    throw Error(Code::kUsage, "prediction: there is no prediction '" + prediction + "'",
                "use epsilon or v");
  }
  return std::make_unique<VariancePreserving>(schedule, prediction == "v");
}

}  // namespace lockstep::objective
