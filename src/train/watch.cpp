#include "train/watch.h"

#include <algorithm>
#include <span>

#include "lockstep/core/list.h"
#include "lockstep/lane/partition.h"
#include "lockstep/ops/device.h"
#include "lockstep/optim/optimizer.h"
#include "train/collectives.h"
#include "train/phase.h"

namespace lockstep::train {
namespace {

using Values = std::vector<std::pair<std::string, float>>;

// Under the names of the networks that the phases train: those of the recipe's tables.
Values by_network(const Training& training, Values values) {
  for (auto& [name, value] : values)
    for (const auto& phase : recipe::phases(training.recipe))
      if (name == phase.name) {
        name = phase.role;
        break;
      }
  return values;
}

// Of all parameters that the step's phases trained. Sums of squares are the tree over tiles, as
// those of the gradients' global norm.
std::vector<monitor::Layer> layers_of(const StepRecord& record, const Training& training) {
  std::vector<monitor::Layer> layers;
  const std::vector<PhaseAt> phases = phases_of(training, record.entry.step);
  for (std::size_t phase = 0; phase < phases.size(); ++phase) {
    const auto one = std::ranges::find(training.trained, phases[phase].names.role, &Trained::role);
    const ops::HostView squares(optim::tile_squares(one->parameters));
    std::size_t first = 0;
    for (const auto& [path, tensor] : one->network->parameters_in_order()) {
      const auto tiles = static_cast<std::size_t>(lane::tiles_in(tensor.numel()));
      const auto norm = [&](std::span<const float> of_all) {
        return numerics::norm_of(of_all.subspan(first, tiles));
      };
      layers.push_back({one->role + "/param/" + path, norm(squares.floats()),
                        norm(record.gradient_squares[phase])});
      first += tiles;
    }
  }
  return layers;
}

}  // namespace

monitor::Report Watch::after(const StepRecord& record, Training& training, comm::Group& group) {
  const auto losses = by_network(training, record.entry.losses),
             gradient_norms = by_network(training, record.gradient_norms);
  monitor::Observation observation{
      .step = record.entry.step, .losses = losses, .gradient_norms = gradient_norms, .samples = {}};
  std::vector<monitor::Layer> layers;
  if (monitor_.layers_due(observation.step)) layers = layers_of(record, training);
  observation.layers = layers;
  observation.activations = record.activations;
  if (!monitor_.due(observation.step)) return monitor_.observe(observation);
  Tensor samples;
  if (objective::makes_samples(training.recipe.objective))
    samples = draw_samples(training, {.first = 0, .count = options_.samples});
  const ops::HostView values(samples);
  observation.samples = values.floats();
  if (record.counts.empty()) return monitor_.observe(observation);
  std::vector<std::int64_t> mine;
  for (const auto& [name, count] : record.counts) mine.push_back(count);
  const auto all = sums(group, mine);
  for (std::size_t i = 0; i < all.size(); ++i)
    observation.counts.emplace_back(record.counts[i].first, all[i]);
  return monitor_.observe(observation);
}

Error stopped_by(const monitor::Report& report, Step saved) {
  const std::string lines = joined(report.lines, "; ");
  std::string off;
  for (const auto& [key, never] : {std::pair("stop_distance", "0"),
                                   {"stop_accuracy", "1"},
                                   {"loss_limit", "0"},
                                   {"stop_spike", "0"}})
    if (lines.find(key) != std::string::npos)
      off += std::string(off.empty() ? "" : " ") + "--set monitor." + key + "=" + never;
  const bool any = saved > Step(0);
  return {Code::kDiverged, lines,
          (any ? "the checkpoint of step " + std::to_string(saved.value) + " is intact"
               : "nothing was saved yet") +
              "; the same command with " + off + (any ? " goes on from there" : " begins again") +
              "; to train otherwise change the recipe and start anew" +
              (any ? ", or from that step with --from RUN@" + std::to_string(saved.value) : "")};
}

}  // namespace lockstep::train
