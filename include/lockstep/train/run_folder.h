// The run folder: where things lie in it, who writes to it, and which recipe it belongs to.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "lockstep/checkpoint/checkpoint.h"
#include "lockstep/core/file_system.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/train/claims.h"
#include "lockstep/train/training.h"

namespace lockstep::train {

struct RunFolder {
  std::filesystem::path root;

  std::filesystem::path recipe() const { return root / "recipe.toml"; }
  std::filesystem::path ledger() const { return root / "ledger.jsonl"; }
  std::filesystem::path checkpoints() const { return root / "checkpoints"; }
  std::filesystem::path samples() const { return root / "samples"; }
  std::filesystem::path sample(Step step) const;
  std::filesystem::path metrics() const { return root / "metrics.jsonl"; }
  std::filesystem::path replays() const { return root / "replays.jsonl"; }
  std::filesystem::path environment() const { return root / "environment"; }
  std::filesystem::path log() const { return root / "log.txt"; }
};

// One writer a folder. Held for the life of the object; the system releases it however the process
// ends.
class FolderLock {
 public:
  explicit FolderLock(const RunFolder& folder);  // Error(kUsage) if another process holds it
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

// Removes what a killed attempt left: temporary files, lone sidecars. The caller holds the lock.
void sweep(FileSystem& fs, const RunFolder& folder);

// Makes the folder a run of this recipe, or checks that it is one. Fields that cannot change bits
// are renewed; run.steps does not fall below what is done. Errors, after which nothing is changed:
// kUsage for another recipe id, kData for other data than the run's, kCorrupt for a run that has
// lost its recipe or ledger.
void adopt_recipe(FileSystem& fs, const RunFolder& folder, recipe::Recipe recipe,
                  const data::Dataset& dataset);

// Error(kCorrupt) if a line does not follow from the recipe (train/claims.h).
void require_of_recipe(const RunFolder& folder, const ledger::Ledger& ledger,
                       const recipe::Recipe& recipe);

// The folder's ledger. Error(kCorrupt) if a line does not follow from this recipe.
ledger::Ledger ledger_of_run(FileSystem& fs, const RunFolder& folder, const recipe::Recipe& recipe);

// The metadata of a checkpoint of `training` whose ledger is `ledger`.
checkpoint::Meta meta_of(const Training& training, const ledger::Ledger& ledger);

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

// The same for those who only read the folder. `choose` picks one of the steps that are there
// (ascending), or throws Error. A run that trains meanwhile may retire that checkpoint before it is
// opened: then `choose` is asked again.
struct OpenedRun {
  recipe::Recipe recipe;
  ledger::Ledger ledger;
  Step step;
  checkpoint::Loaded loaded;
};
OpenedRun open_run(FileSystem& fs, const RunFolder& folder,
                   const std::function<Step(const std::vector<Step>&)>& choose);

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
