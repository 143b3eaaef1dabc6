// The run folder: where things lie in it, who writes to it, and which recipe it is of.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "lockstep/checkpoint/checkpoint.h"
#include "lockstep/core/file_system.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/recipe.h"
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

// One writer a folder: held for the life of the object, given back by the system at any end of the
// process.
class FolderLock {
 public:
  explicit FolderLock(const RunFolder& folder);  // Error(kUsage) if another process holds it
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

// Removes what a killed attempt left: temporary files, lone sidecars. Under the lock.
void sweep(FileSystem& fs, const RunFolder& folder);

// Makes the folder a run of this recipe, or checks that it is one: Error(kUsage) for another recipe
// id, Error(kData) for other data than the run's, and nothing is changed. Fields that cannot change
// bits are renewed.
void adopt_recipe(FileSystem& fs, const RunFolder& folder, const recipe::Recipe& recipe,
                  const data::Dataset& dataset);

// What every ledger of this recipe on this data begins with.
ledger::Header header_of(const recipe::Recipe& recipe, const data::Dataset& dataset);

// The meta data of a checkpoint of `training` whose ledger is `ledger`.
checkpoint::Meta meta_of(const Training& training, const ledger::Ledger& ledger);

// A checkpoint that is this run's: of the step in its name, with the chain and the state that the
// ledger has there. Throws Error: kCorrupt, kUsage (another recipe), kData (other data).
checkpoint::Loaded load_of_run(FileSystem& fs, const RunFolder& folder, Step step,
                               const ledger::Ledger& ledger, const recipe::Recipe& recipe);

// What a damaged checkpoint means: to who trains, one to report and pass over; to who checks, a
// finding, Error(kCorrupt) naming file, bytes and tensor.
enum class Damaged { kPassOver, kRefuse };

// Restores the newest checkpoint at or before `limit` that is whole and fits the ledger; step 0
// stays if there is none. Returns what was restored from. Error(kCorrupt) if an intact one does not
// fit the ledger (the ledger was cut or is another run's).
std::optional<checkpoint::Loaded> restore_newest(FileSystem& fs, const RunFolder& folder,
                                                 const ledger::Ledger& ledger, Step limit,
                                                 Damaged damaged, Training& training);

}  // namespace lockstep::train
