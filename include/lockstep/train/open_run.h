// A run's ledger and checkpoints, opened: each follows from the recipe and fits the others, or it
// is refused.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lockstep/checkpoint/checkpoint.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/train/claims.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

// Error(kCorrupt) if a line does not follow from the recipe (train/claims.h).
void require_of_recipe(const RunFolder& folder, const ledger::Ledger& ledger,
                       const recipe::Recipe& recipe);

// The folder's ledger. Error(kCorrupt) if a line does not follow from this recipe, or if there are
// checkpoints but no ledger.
ledger::Ledger ledger_of_run(FileSystem& fs, const RunFolder& folder, const recipe::Recipe& recipe);

// The metadata of a checkpoint of `training`. header: of its ledger; chain: of its step's line.
checkpoint::Meta meta_of(const Training& training, const ledger::Header& header,
                         const hash::Digest& chain);

// What a run's checkpoints are checked against.
struct Measure {
  const recipe::Recipe& recipe;
  const ledger::Ledger& ledger;
  std::optional<Shape> shape;  // of the data's samples; nothing if they are not at hand
};

// Loads a checkpoint and checks that it is this run's: of the step in its name, with the chain and
// the state that the ledger has there (at step 0: the state that recipe and seed make, or that the
// recipe names). Errors: kCorrupt, kUsage (another recipe), kData (other data).
checkpoint::Loaded load_of_run(FileSystem& fs, const RunFolder& folder, Step step,
                               const Measure& measure);

// A state that a run saved.
struct SavedState {
  std::filesystem::path folder;
  std::optional<Step> step;  // default: that of its newest checkpoint
};
// "runs/a", "runs/a@500".
SavedState parse_saved_state(const std::string& text);
// That of "runs/a@500", unless a file or folder has this name; nothing of a text without '@'.
std::optional<SavedState> state_of_step(const std::string& source);
// The checkpoint of "runs/a@500", by the same rule; else the path itself. Error(kUsage) if the run
// has no such checkpoint.
std::filesystem::path file_of(const std::string& source);

// The same for those who only read the folder. A run that trains meanwhile may retire its newest
// checkpoint before it is opened: then the next one is taken. Error(kUsage) if there is none of
// that step.
struct OpenedRun {
  recipe::Recipe recipe;
  ledger::Ledger ledger;
  Step step;
  checkpoint::Loaded loaded;
};
OpenedRun open_run(FileSystem& fs, const SavedState& saved);

// What happens at a damaged checkpoint. Training reports it and passes over it; a check refuses it
// with Error(kCorrupt), which names file, bytes and tensor.
enum class Damaged { kPassOver, kRefuse };

// Restores the newest checkpoint at or before `limit` that is whole and fits the ledger, and
// returns it. If there is none, a fresh run's step 0 stays. Error(kCorrupt) if an intact one does
// not fit the ledger (the ledger was cut or is another run's).
std::optional<checkpoint::Loaded> restore_newest(FileSystem& fs, const RunFolder& folder,
                                                 const ledger::Ledger& ledger, Step limit,
                                                 Damaged damaged, Training& training);

}  // namespace lockstep::train
