// Witness lanes: a second rank computes some lanes again. This finds a gradient that was wrong
// before the sum, and so is the same on all ranks.
#pragma once

#include <vector>

#include "lockstep/lane/backward.h"
#include "lockstep/train/step.h"
#include "lockstep/train/witness_lanes.h"
#include "train/phase.h"

namespace lockstep::train {

lane::Plan isolating(const lane::Plan& plan, const std::vector<Witnessed>& witnessed);

// The inputs of a phase, to compute a lane of it again.
struct PhaseInputs {
  const Training& training;
  const lane::Context& context;
  const PhaseAt& phase;
  float seed;  // of the backward pass
  const Feed& feed;
};

// Compares the witnesses' bits with the owners'. If they differ, every rank computes the lane once
// more, and all throw Error(kDiffer): it names phase, lane, gradient, elements and, if there is a
// majority, the odd rank. Nothing is compared if the loss is not finite: that is no machine's
// fault. Changes nothing. Collective: yes.
void witness(const PhaseInputs& inputs, const std::vector<Witnessed>& witnessed,
             const lane::PhaseGradients& whole);

}  // namespace lockstep::train
