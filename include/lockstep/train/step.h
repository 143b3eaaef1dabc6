// One update. Reads like the line in docs/architecture.md: forward, backward, exchange, clip,
// optimiser, average, digest, compare.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/ledger/format.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

struct StepRecord {
  // What the ledger says; chain not set; with divided slots only rank 0 has the commit.
  ledger::Entry entry;
  std::vector<std::pair<std::string, float>> gradient_norms;   // per phase, before clipping
  std::vector<std::pair<std::string, double>> learning_rates;  // per phase
  std::vector<std::vector<float>> gradient_squares;            // per phase: optim::tile_squares
  objective::Counts counts;  // of this rank's samples, over all phases
  // If asked for: of each operation of the networks that the phases train, the root mean square of
  // what it gave (train/activations.h). The same on every rank.
  std::vector<std::pair<std::string, float>> activations;
};

// Whether a step measures activations. Changes no bit.
enum class Look { kNone, kActivations };

// Where samples come from: `count` draws from `first` on, the same whoever asks.
using Feed = std::function<objective::Batch(Draw first, std::int64_t count)>;

// Measures how far samples of the training's state are from the data (train/interval.h): the
// ledger's values. Collective: yes.
using Evaluate = std::function<ledger::Named<double>(Training& training, comm::Group& group)>;

// Changes training.state from step n to n+1 and says what it became, by the draws [samples, samples
// + plan.batch()), of which this rank takes its lanes'. Where run.validate_every says so, it then
// measures the loss on held-out samples, `held_out` by number, and where evaluation.every does the
// distances of its samples; a caller that has none of these gets a record without. Writes no file,
// reads no clock, no environment.
//
// Throws Error(kDiffer) if the state is not what it was after the last step, if a witness computes
// other bits for a lane than its owner, or if ranks disagree about the new state: names step,
// tensor, element range and rank. Error(kDiverged) if the new state
// has a non-finite value: names step and tensor. Error(kBug) if LibTorch did arithmetic: names
// operator and module (ops/guard.h). Collective: yes. Bits: recipe, state, samples; not
// the world size.
StepRecord step(Training& training, comm::Group& group, const Feed& feed, const Feed& held_out = {},
                const Evaluate& evaluate = {}, Look look = Look::kNone);

}  // namespace lockstep::train
