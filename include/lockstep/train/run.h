// Training a recipe into a run folder, from its beginning or from where it stopped: input and
// output around train::step.
#pragma once

#include <filesystem>

#include "lockstep/core/ids.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::train {

struct RunOptions {
  recipe::Recipe recipe;
  std::filesystem::path folder;  // created, or continued if it is a run of the same recipe
  int threads = 1;               // of this process; never affects bits
};

struct RunResult {
  Step first;              // where this attempt began (0 or a checkpoint's step)
  Step last;               // completed steps
  bool preempted = false;  // a signal asked to stop; everything is saved
  std::string chain;       // head of the ledger, hexadecimal
};

// Trains until recipe.run.steps, or until `stop_requested` (signals.h). Errors: kUsage (the folder
// holds another recipe, or another process writes there), kData (data set unusable or not the
// run's), kCorrupt (evidence in the folder does not hold), kEnvironment (disk full: what was saved
// stays), kDiffer (a recomputed step is not what the ledger says), kDiverged.
RunResult run(const RunOptions& options);

}  // namespace lockstep::train
