#include "lockstep/monitor/options.h"

namespace lockstep::monitor {

void describe(Fields& f, Options& o) {
  f.field("every", o.every, 0, std::int64_t{1'000'000'000'000}, Effect::kNone,
          "steps between checks of samples and of the answers of a discriminator or classifier; 0: "
          "none");
  f.field("samples", o.samples, 2, 256, Effect::kNone,
          "samples of a check, always the same ones; their distance is the root mean square of the "
          "differences of two samples' values, mean over all pairs");
  f.field("warn_distance", o.warn_distance, 0.0, 1e6, Effect::kNone,
          "distance below which a check warns of collapse; 0: never");
  f.field("stop_distance", o.stop_distance, 0.0, 1e6, Effect::kNone,
          "distance below which a check stops the run with exit code 7; 0: never");
  f.field("warn_accuracy", o.warn_accuracy, 0.0, 1.0, Effect::kNone,
          "share of a step's real and fake samples that the discriminator judges rightly; above "
          "it a check warns; 1: never");
  f.field("stop_accuracy", o.stop_accuracy, 0.0, 1.0, Effect::kNone,
          "the same share above which a check stops the run with exit code 7; 1: never");
  f.field("loss_limit", o.loss_limit, 0.0, 1e30, Effect::kNone,
          "a step diverges if a loss is not finite or its size is above this; 0: none does");
  f.field("loss_steps", o.loss_steps, 1, std::int64_t{1'000'000'000'000}, Effect::kNone,
          "diverging steps in a row of one network, among those that train it in one attempt, that "
          "stop "
          "the run with exit code 7");
  f.field(
      "spike_window", o.spike_window, 8, 100'000, none_unless(o.spike_window, std::int64_t{100}),
      "steps of one attempt, among those that train a network, whose losses and gradient norms a "
      "step's are compared with; with fewer before it a step is not judged");
  f.field("warn_spike", o.warn_spike, 0.0, 1e30, none_unless(o.warn_spike, 0.0),
          "how many robust standard deviations (1.4826 times the median absolute deviation) a loss "
          "or a gradient norm may lie above the median before a step warns, such as 20; 0: never");
  f.field("stop_spike", o.stop_spike, 0.0, 1e30, none_unless(o.stop_spike, 0.0),
          "the same, for steps that stop the run with exit code 7; 0: never");
  f.field(
      "spike_steps", o.spike_steps, 1, std::int64_t{1'000'000'000'000},
      none_unless(o.spike_steps, std::int64_t{1}),
      "steps in a row of one network beyond stop_spike, among those that train it in one attempt, "
      "that stop the run");
  f.field("layers_every", o.layers_every, 0, std::int64_t{1'000'000'000'000},
          none_unless(o.layers_every, std::int64_t{0}),
          "steps between checks of layers: norms of each tensor of the networks' parameters and of "
          "its gradient, and the root mean square of what each operation gives; 0: none");
  f.field("layers_dead", o.layers_dead, 1, 1'000'000, none_unless(o.layers_dead, std::int64_t{3}),
          "checks in a row, of one attempt, in which a tensor's gradient is exactly 0, or all that "
          "an operation gives (a dead ReLU), that warn");
  f.field("layers_growth", o.layers_growth, 0.0, 1e30, none_unless(o.layers_growth, 100.0),
          "a norm or root mean square warns above so many times its median of the last 16 checks "
          "of one attempt; small ones (docs/running.md) never do; 0: never");
  f.field("warn_imbalance", o.warn_imbalance, 0.0, 1e12, none_unless(o.warn_imbalance, 10.0),
          "with data.classes, of pictures: the start warns of classes without samples, and if the "
          "largest class has more than so many times the samples of the smallest; 0: never");
}

}  // namespace lockstep::monitor
