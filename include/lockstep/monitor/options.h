// What a recipe says about its monitors: the table [monitor]. None of it changes a bit of a run; it
// says when a run warns, or ends early.
#pragma once

#include <cstdint>

#include "lockstep/core/fields.h"

namespace lockstep::monitor {

struct Options {
  // Collapse and the discriminator, every so many steps.
  std::int64_t every = 0;     // steps; 0: never
  std::int64_t samples = 16;  // that are compared, the first of the pictures' stream
  double warn_distance = 0.01, stop_distance = 0.0;  // below; 0: never
  double warn_accuracy = 1.0, stop_accuracy = 1.0;   // above; 1: never

  // Divergence, every step.
  double loss_limit = 0.0;      // above, whatever the sign, or not finite; 0: none
  std::int64_t loss_steps = 1;  // in a row, that stop the run

  // Spikes of a loss or a gradient norm, every step: robust standard deviations above the median of
  // the steps before.
  std::int64_t spike_window = 100;            // steps that are compared
  double warn_spike = 0.0, stop_spike = 0.0;  // above; 0: never
  std::int64_t spike_steps = 1;               // beyond stop_spike in a row, that stop the run

  // Norms of each tensor and of its gradient, and root mean squares of what operations give, every
  // so many steps.
  std::int64_t layers_every = 0;  // steps; 0: never
  std::int64_t layers_dead = 3;   // checks in a row with gradients or activations of 0 that warn
  double layers_growth = 100.0;   // times the median of the checks before, above which one warns

  // Classes of the data set, at the start: the largest has so many times the smallest's samples.
  double warn_imbalance = 10.0;  // above; 0: never
};
void describe(Fields& fields, Options& options);

}  // namespace lockstep::monitor
