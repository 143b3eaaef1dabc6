// Which lanes of a step a witness computes again.
// Lanes and witnesses are known before the step: each lane is drawn with probability
// evidence.witness_rate from the run's seed and the step. In a world of one the rank is its own
// witness; it finds only errors that do not repeat.
#pragma once

#include <vector>

#include "lockstep/train/training.h"

namespace lockstep::train {

struct Witnessed {
  Lane lane;
  Rank owner, witness;
};

// The lanes drawn for the step after `before`. Bits: seed, rate, lanes, step.
std::vector<Lane> drawn_lanes(const recipe::Recipe& recipe, Step before);
// The lanes of the step after training.state. Bits: seed, rate, step; the witnesses: world, too.
std::vector<Witnessed> witnessed_lanes(const Training& training);

}  // namespace lockstep::train
