#include "train/watch.h"

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "train/collectives.h"

namespace lockstep::train {

monitor::Report Watch::after(const StepRecord& record, Training& training, comm::Group& group) {
  monitor::Observation observation{.step = record.entry.step,
                                   .losses = record.entry.losses,
                                   .gradient_norms = record.gradient_norms,
                                   .samples = {}};
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

void stop(const monitor::Report& report) {
  std::string lines;
  for (const std::string& line : report.lines) lines += (lines.empty() ? "" : "; ") + line;
  std::string off;
  for (const auto& [key, never] : {std::pair("stop_distance", "0"),
                                   {"stop_accuracy", "1"},
                                   {"loss_limit", "0"},
                                   {"stop_spike", "0"}})
    if (lines.find(key) != std::string::npos)
      off += std::string(off.empty() ? "" : " ") + "--set monitor." + key + "=" + never;
  throw Error(Code::kDiverged, lines,
              "what was saved before is intact; the same command with " + off +
                  " goes on from there; to train otherwise change the recipe and start anew, or "
                  "from an earlier step with --from RUN@STEP");
}

}  // namespace lockstep::train
