// Witness lanes: a second rank computes some lanes again. This finds a gradient that was wrong
// before the sum, and so is the same on all ranks.
// Lanes and witnesses are known before the step: each lane is drawn with probability
// evidence.witness_rate from the run's seed and the step. In a world of one the rank is its own
// witness; it finds only errors that do not repeat.
#pragma once

#include <vector>

#include "lockstep/lane/backward.h"
#include "lockstep/train/step.h"

namespace lockstep::train {

struct Witnessed {
  Lane lane;
  Rank owner, witness;
};

// The lanes drawn for the step after `before`. Bits: seed, rate, lanes, step.
std::vector<Lane> drawn_lanes(const recipe::Recipe& recipe, Step before);
// The lanes of the step after training.state. Bits: seed, rate, step; the witnesses: world, too.
std::vector<Witnessed> witnessed_lanes(const Training& training);
lane::Plan isolating(const lane::Plan& plan, const std::vector<Witnessed>& witnessed);

// The inputs of a phase, to compute a lane of it again.
struct PhaseAgain {
  const Training& training;
  const lane::Context& context;
  int phase;
  float seed;  // of the backward pass
  const Feed& feed;
};

// Compares the witnesses' bits with the owners'. If they differ, every rank computes the lane once
// more, and all throw Error(kDiffer): it names phase, lane, gradient, elements and, if there is a
// majority, the odd rank. Nothing is compared if the loss is not finite: that is no machine's
// fault. Changes nothing. Collective: yes.
void witness(const PhaseAgain& again, const std::vector<Witnessed>& witnessed,
             const lane::PhaseGradients& whole);

}  // namespace lockstep::train
