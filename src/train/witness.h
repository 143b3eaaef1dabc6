// Witness lanes: lanes that a second rank computes again, so that a gradient that was wrong before
// the sum, and so the same on all ranks, is found. Which lanes, and who, is known before the step:
// each lane is drawn with probability evidence.witness_rate from the run's seed and the step. In a
// world of one the rank is its own witness: it finds what does not happen twice.
#pragma once

#include <vector>

#include "lockstep/lane/exchange.h"
#include "lockstep/train/step.h"

namespace lockstep::train {

struct Witnessed {
  Lane lane;
  Rank owner, witness;
};

// Those that are drawn for the step after `before`. Bits: seed, rate, lanes, step.
std::vector<Lane> drawn_lanes(const recipe::Recipe& recipe, Step before);
// Of the step that follows training.state. Bits: seed, rate, step; who watches: world size too.
std::vector<Witnessed> witnessed_lanes(const Training& training);
lane::Plan isolating(const lane::Plan& plan, const std::vector<Witnessed>& witnessed);

// What a phase was computed from, to compute a lane of it again.
struct PhaseAgain {
  const Training& training;
  const lane::Context& context;
  int phase;
  float seed;  // of the backward pass
  const Feed& feed;
};

// Throws Error(kDiffer), on all ranks, if a witness comes to other bits than the lane's owner:
// names phase, lane, gradient, elements, and who is odd: every rank computes the lane once more,
// and the majority decides. Nothing is compared where the loss is not finite: that is no machine's
// fault. Collective: yes. Changes nothing.
void witness(const PhaseAgain& again, const std::vector<Witnessed>& witnessed,
             const lane::PhaseGradients& whole);

}  // namespace lockstep::train
