// Training a recipe into a run folder, from its beginning or from where it stopped: input and
// output around train::step.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/core/ids.h"
#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/state/state.h"

namespace lockstep::train {

// What ranks divide among them. Never affects bits.
enum class Shard {
  kNone,       // nothing: each keeps and updates all
  kOptimizer,  // the optimisers' slots: 1/ranks of their memory each; a slot has one holder, so
               // that only the checks in front of the next step see a bit that changes in it
};

struct RunOptions {
  recipe::Recipe recipe;
  std::filesystem::path folder;  // created, or continued if it is a run of the same recipe
  Shard shard = Shard::kNone;    // the same on all ranks
  // How many lanes of this rank go through a pass at once: less memory, the same bits. Ranks may
  // differ. 0: as many as fit and keep the cores busy (train/memory.h).
  std::int64_t lanes_at_once = 0;
  // Ranks that share this machine's memory, each a process of its own. 0: memory is not looked at
  // (ranks as threads of one process).
  int processes = 0;
  // Event files for TensorBoard in the folder's `tensorboard`.
  bool tensorboard = false;
  // Private key (hash/key_file.h) that signs every checkpoint; rank 0 alone reads it. A run is
  // signed by one key, and goes on with that one only.
  std::optional<std::filesystem::path> sign = {};
  // Gives step 0 (train/initial_state.h) where the recipe starts from another run's state and the
  // folder has no checkpoint yet; rank 0 alone calls it, once.
  std::function<state::State()> start = {};
  std::vector<std::string> notes = {};  // lines for the log, once step 0 was made so
  // This process's, with the recipe's kernels (train/numerics.h), where it was taken before. Empty:
  // run() takes it.
  fingerprint::Fingerprint fingerprint = {};
};

struct RunResult {
  Step first;              // where this attempt began (0 or a checkpoint's step)
  Step last;               // completed steps
  bool preempted = false;  // a signal asked some rank to stop; everything is saved
  std::string chain;       // of the ledger at `last`, hexadecimal; rank 0 alone has it
};

// Trains until recipe.run.steps, or until a signal asked any rank to stop (`stop_requested`,
// signals.h): all end behind the same step. Rank 0 alone reads and writes the folder; the others
// need the data only, and may stand on machines that do not have the folder.
//
// Errors: kUsage (the folder holds another recipe or is signed by another key, a key that will not
// do, or another process writes there), kData (data set unusable or not the run's), kCorrupt
// (evidence in the folder does not hold), kEnvironment (disk full: what was saved stays; a step
// that does not fit into memory; native numerics whose kernels give other bits than where the run
// was trained last), kDiffer (a recomputed step is not what the ledger says, ranks disagree),
// kDiverged (a non-finite value, or a monitor: all ranks at the same step), kNetwork (another rank
// gave up: its reason). Collective: yes. Bits: of all files: recipe and data; not the world size.
RunResult run(const RunOptions& options, comm::Group& group);

}  // namespace lockstep::train
