// One update. Reads like the line in docs/architecture.md: forward, backward, exchange, clip,
// optimiser, average, digest, compare.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/ledger/format.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

struct StepRecord {
  ledger::Entry entry;                                        // what the ledger says; chain not set
  std::vector<std::pair<std::string, float>> gradient_norms;  // per phase, before clipping
  std::vector<std::pair<std::string, double>> learning_rates;  // per phase
  objective::Judged judged;  // of this rank's samples, by the discriminator's phase
};

// Changes training.state from step n to n+1 and says what it became. `batch` is this rank's part of
// the draws [samples, samples + plan.batch()). Writes no file, reads no clock, no environment.
//
// Throws Error(kDiffer) if the state is not what it was after the last step, or if ranks disagree
// about the new one: names step, tensor, element range and rank. Error(kDiverged) if the new state
// has a non-finite value: names step and tensor. Error(kBug) if LibTorch did arithmetic: names
// operator and module (ops/guard.h). Collective: yes. Bits: recipe, state, batch; not
// the world size.
StepRecord step(Training& training, comm::Group& group, const objective::Batch& batch);

}  // namespace lockstep::train
