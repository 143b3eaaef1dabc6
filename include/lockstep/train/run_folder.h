// The run folder: where things lie in it, who writes to it, and which recipe it belongs to.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/core/file_system.h"
#include "lockstep/core/ids.h"
#include "lockstep/data/dataset.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::train {

struct RunFolder {
  std::filesystem::path root;

  std::filesystem::path recipe() const { return root / "recipe.toml"; }
  std::filesystem::path ledger() const { return root / "ledger.jsonl"; }
  std::filesystem::path checkpoints() const { return root / "checkpoints"; }
  std::filesystem::path features() const { return root / "features"; }  // of [evaluation]
  std::filesystem::path samples() const { return root / "samples"; }
  std::filesystem::path sample(Step step) const;         // a picture
  std::filesystem::path sample_arrays(Step step) const;  // of fields and signals
  std::filesystem::path metrics() const { return root / "metrics.jsonl"; }
  std::filesystem::path replays() const { return root / "replays.jsonl"; }
  std::filesystem::path tensorboard() const { return root / "tensorboard"; }
  std::filesystem::path environment() const { return root / "environment"; }
  std::filesystem::path log() const { return root / "log.txt"; }
  std::filesystem::path classes() const {
    return root / "classes.txt";
  }                                                              // their names, a line each
  std::filesystem::path lock() const { return root / ".lock"; }  // while a process writes there

  // All that a run makes.
  std::vector<std::filesystem::path> files() const {
    return {recipe(), ledger(), metrics(), replays(), log(), classes(), lock()};
  }
  std::vector<std::filesystem::path> folders() const {
    return {checkpoints(), features(), samples(), environment(), tensorboard()};
  }
};

// Error(kCorrupt), with this hint, if the folder has checkpoints but no ledger.
void require_ledger(FileSystem& fs, const RunFolder& folder, const std::string& hint);

// This error of data that cannot be opened, which says also where `option` ("--data PATH") helps if
// they moved, and how their hash begins. whose: a run, or a checkpoint.
Error moved(const Error& error, const std::string& whose, const hash::Digest& data,
            const std::string& option);

// Opens the data of a run that may have begun already: where that fails, the error says with which
// option they are given (`option`: "--data PATH") and which hash the folder's ledger has.
std::unique_ptr<data::Dataset> open_data(FileSystem& fs, const RunFolder& folder,
                                         const data::Options& options, const std::string& option);

// One writer a folder, of all machines to which the file system's locks reach; one without locks
// lets everybody in. Held for the life of the object; the system releases it however the process
// ends.
class FolderLock {
 public:
  FolderLock(FileSystem& fs, const RunFolder& folder);  // Error(kUsage) if another process holds it
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  FileSystem& fs_;
  const std::filesystem::path name_;
  std::unique_ptr<File> file_;
};

// Error(kUsage) if what has the name of a run's folder to be, or of one above it, is no folder.
void require_place(const std::filesystem::path& folder);

// Whether it has a recipe or a ledger: then it is a run, whatever else lies in it.
bool is_run(FileSystem& fs, const RunFolder& folder);

// Error(kUsage) if the folder has neither recipe nor ledger.
void require_run(FileSystem& fs, const RunFolder& folder);

// Removes what a killed attempt left in the folders of an adopted run: temporary files, lone
// sidecars, which the log names. The caller holds the lock.
void sweep(FileSystem& fs, const RunFolder& folder);

struct Adopted {
  std::string mended;                      // what was wrong with the recipe, else ""
  std::optional<ledger::Existing> ledger;  // of a run that goes on
  std::optional<recipe::Recipe> before;    // what its recipe.toml said until now
};

// Makes the folder a run of this recipe, or checks that it is one. Temporary files of recipe and
// ledger, which a killed attempt left, are removed. The caller holds the lock. Fields that cannot
// change bits are renewed; run.steps does not fall below what is done. A recipe that is missing or
// damaged is written anew if the ledger is of this one. Errors, after which nothing else is
// changed: kUsage for another recipe id, kData for other data than the run's, kCorrupt for a
// damaged ledger, a run that has lost its ledger, or its recipe where the ledger is not of this
// one.
Adopted adopt_recipe(FileSystem& fs, const RunFolder& folder, recipe::Recipe recipe,
                     const data::Dataset& dataset);

}  // namespace lockstep::train
