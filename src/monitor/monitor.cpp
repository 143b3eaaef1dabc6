#include "lockstep/monitor/monitor.h"

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/finite.h"
#include "lockstep/core/text.h"
#include "lockstep/numerics/cpu.h"
#include "monitor/layers.h"
#include "monitor/robust_score.h"

namespace lockstep::monitor {
namespace {

void judge(Report& report, Verdict verdict, const std::string& line) {
  report.lines.push_back(line);
  if (verdict > report.verdict) report.verdict = verdict;
}

std::string at(Step step, const char* monitor) {
  return "step " + std::to_string(step.value) + ": " + monitor + ": ";
}

// A value that should not be below (side 1) or above (side -1) its limits.
void judge_limits(Report& report, const std::string& place, const std::string& what, float value,
                  const std::string& name, double warn, double stop, int side) {
  const auto beyond = [&](double limit) { return side * (value - limit) < 0; };
  const Verdict verdict = beyond(stop)   ? Verdict::kStop
                          : beyond(warn) ? Verdict::kWarn
                                         : Verdict::kFine;
  if (verdict == Verdict::kFine) return;
  const bool stops = verdict == Verdict::kStop;
  judge(report, verdict,
        place + what + " is " + to_text(value) + (side > 0 ? ", below " : ", above ") +
            (stops ? "stop_" : "warn_") + name + " = " + to_text(stops ? stop : warn));
}

// 0 for what is not counted.
std::int64_t count_of(const Observation& observation, std::string_view name) {
  for (const auto& [counted, count] : observation.counts)
    if (counted == name) return count;
  return 0;
}

}  // namespace

float pairwise_distance(std::span<const float> samples, std::int64_t count) {
  LOCKSTEP_ASSERT(count >= 2 && samples.size() % static_cast<std::size_t>(count) == 0,
                  std::to_string(count));
  const std::int64_t values = static_cast<std::int64_t>(samples.size()) / count;
  std::vector<float> distances;
  numerics::Cpu cpu;
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = i + 1; j < count; ++j) {
      float square = 0;
      cpu.row_squared_distances(1, values, samples.data() + i * values, samples.data() + j * values,
                                &square);
      distances.push_back(square / static_cast<float>(values));
    }
  }
  const auto pairs = static_cast<std::int64_t>(distances.size());
  cpu.unary(numerics::Unary::kSqrt, pairs, distances.data(), distances.data());
  float sum = 0;
  cpu.row_sums(1, pairs, distances.data(), &sum);
  return sum / static_cast<float>(pairs);
}

Monitor::Monitor(const Options& options)
    : options_(options), layers_(std::make_unique<LayerWatch>(options)) {}
Monitor::~Monitor() = default;

bool Monitor::due(Step step) const {
  return lockstep::due(step, options_.every);
}

bool Monitor::layers_due(Step step) const {
  return lockstep::due(step, options_.layers_every);
}

Report Monitor::observe(const Observation& observation) {
  Report report;
  if (!observation.samples.empty()) {
    const float distance = pairwise_distance(observation.samples, options_.samples);
    report.values.emplace_back("sample_distance", distance);
    judge_limits(report, at(observation.step, "collapse"), "the mean distance of samples", distance,
                 "distance", options_.warn_distance, options_.stop_distance, 1);
  }
  if (const std::int64_t judged = count_of(observation, "judged"); judged > 0) {
    const float accuracy =
        static_cast<float>(count_of(observation, "judged rightly")) / static_cast<float>(judged);
    report.values.emplace_back("discriminator_accuracy", accuracy);
    judge_limits(report, at(observation.step, "discriminator"), "its accuracy", accuracy,
                 "accuracy", options_.warn_accuracy, options_.stop_accuracy, -1);
  }
  if (const std::int64_t classified = count_of(observation, "classified"); classified > 0)
    report.values.emplace_back("accuracy",
                               static_cast<float>(count_of(observation, "classified rightly")) /
                                   static_cast<float>(classified));
  diverges(observation, report);
  spikes(observation, report);
  report.layers.assign(observation.layers.begin(), observation.layers.end());
  report.activations.assign(observation.activations.begin(), observation.activations.end());
  for (const std::string& line : layers_->check(observation)) judge(report, Verdict::kWarn, line);
  return report;
}

void Monitor::diverges(const Observation& observation, Report& report) {
  for (const auto& [network, loss] : observation.losses) {
    std::int64_t& in_a_row = diverging_[network];
    const double size = loss < 0 ? -double{loss} : double{loss};
    const bool finite = is_finite(loss);
    const bool large = options_.loss_limit > 0 && !(size <= options_.loss_limit);
    if (finite && !large) {
      in_a_row = 0;
      continue;
    }
    const std::string line = at(observation.step, "divergence") + "the loss of the " + network +
                             " is " + (finite ? to_text(loss) : "not finite");
    if (options_.loss_limit == 0) {
      judge(report, Verdict::kWarn, line);
      continue;
    }
    ++in_a_row;
    const std::string beyond = ", beyond loss_limit = " + to_text(options_.loss_limit) + " for " +
                               std::to_string(in_a_row) + " of " +
                               counted(options_.loss_steps, "step");
    judge(report, in_a_row >= options_.loss_steps ? Verdict::kStop : Verdict::kWarn, line + beyond);
  }
}

void Monitor::spikes(const Observation& observation, Report& report) {
  if (options_.warn_spike == 0 && options_.stop_spike == 0) return;
  std::map<std::string, bool> spiking;  // of this step
  const auto look = [&](const std::string& network, const std::string& what, float value) {
    bool& spikes = spiking[network];
    auto& score = scores_[what + network];
    if (!score)
      score = std::make_unique<RobustScore>(static_cast<std::size_t>(options_.spike_window));
    const std::optional<double> found = score->of(value);
    if (!found) return;
    const bool stops = options_.stop_spike > 0 && *found > options_.stop_spike;
    if (!stops && !(options_.warn_spike > 0 && *found > options_.warn_spike)) return;
    std::int64_t& in_a_row = spiking_[network];
    if (stops && !spikes) ++in_a_row;
    spikes = spikes || stops;
    const std::string line =
        at(observation.step, "spike") + "the " + what + network + " is " + to_text(value) + ", " +
        fixed(*found, 1) + " robust standard deviations above the median of " +
        counted(options_.spike_window, "step") + ", beyond " +
        (stops ? "stop_spike = " + to_text(options_.stop_spike) + " for " +
                     std::to_string(in_a_row) + " of " + counted(options_.spike_steps, "step")
               : "warn_spike = " + to_text(options_.warn_spike));
    judge(report, stops && in_a_row >= options_.spike_steps ? Verdict::kStop : Verdict::kWarn,
          line);
  };
  for (const auto& [network, loss] : observation.losses) look(network, "loss of the ", loss);
  for (const auto& [network, norm] : observation.gradient_norms)
    look(network, "gradient norm of the ", norm);
  for (const auto& [network, spikes] : spiking)
    if (!spikes) spiking_[network] = 0;
}

}  // namespace lockstep::monitor
