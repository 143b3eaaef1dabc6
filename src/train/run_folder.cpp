#include "lockstep/train/run_folder.h"

#include <algorithm>

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"

namespace lockstep::train {

namespace stdfs = std::filesystem;

stdfs::path RunFolder::sample(Step step) const {
  return samples() / ("step-" + pad_number(step.value, 8) + ".png");
}

stdfs::path RunFolder::sample_arrays(Step step) const {
  return sample(step).replace_extension(".npz");
}

bool is_run(FileSystem& fs, const RunFolder& folder) {
  return fs.exists(folder.ledger()) || fs.exists(folder.recipe());
}

void require_run(FileSystem& fs, const RunFolder& folder) {
  if (is_run(fs, folder)) return;
  const std::string root = folder.root.string();
  if (!fs.exists(folder.root))
    throw Error(Code::kUsage, "there is no " + root, recipe::hint_for_no_run(folder.root));
  throw Error(Code::kUsage,
              root + " is not a run folder: it has neither recipe.toml nor ledger.jsonl",
              "give the folder that `lockstep train` made");
}

void require_place(const stdfs::path& folder) {
  std::error_code absent;
  stdfs::path there = folder;
  while (!stdfs::exists(there, absent) && there.has_parent_path() && there.has_relative_path())
    there = there.parent_path();
  if (!stdfs::exists(there, absent) || stdfs::is_directory(there, absent)) return;
  throw Error(Code::kUsage,
              there.string() + " is no folder, and " +
                  (there == folder ? "a run has one" : folder.string() + " would lie in it"),
              "give a new folder, or a run's, with --run");
}

void require_ledger(FileSystem& fs, const RunFolder& folder, const std::string& hint) {
  if (!fs.exists(folder.ledger()) && !checkpoint::list(fs, folder.checkpoints()).empty())
    throw Error(Code::kCorrupt, folder.root.string() + " has checkpoints but no ledger.jsonl",
                hint);
}

Error moved(const Error& error, const std::string& whose, const hash::Digest& data,
            const std::string& option) {
  return {error.code(), error.message(),
          "if the data of " + whose + " moved, say where with " + option +
              ": their content hash begins with " + data.brief() +
              (error.hint().empty() ? "" : "; else " + error.hint())};
}

std::unique_ptr<data::Dataset> open_data(FileSystem& fs, const RunFolder& folder,
                                         const data::Options& options, const std::string& option) {
  try {
    return data::open(options);
  } catch (const Error& error) {
    if (error.code() != Code::kData || !fs.exists(folder.ledger())) throw;
    const ledger::Ledger ledger = ledger::read(fs, folder.ledger(), ledger::TornTail::kDrop);
    throw moved(error, folder.root.string(), ledger.header.data, option);
  }
}

FolderLock::FolderLock(FileSystem& fs, const RunFolder& folder) : fs_(fs), name_(folder.lock()) {
  constexpr int kTries = 100;  // of several that start together, one may take away another's
  for (int tries = 1; !file_; ++tries) {
    if (!fs_.remove_abandoned(name_))
      throw Error(Code::kUsage, "another process is writing to " + folder.root.string(),
                  "wait for it, or give another folder with --run");
    try {
      file_ = fs_.create_new(name_);
    } catch (const Error&) {
      if (tries == kTries) throw;
    }
  }
}

FolderLock::~FolderLock() {
  try {
    // Before it is unlocked: the name may be another's then, or already is.
    if (file_->is_at(name_)) fs_.remove(name_);
  } catch (const Error&) {
    // the next writer finds it unlocked
  }
}

void sweep(FileSystem& fs, const RunFolder& folder) {
  checkpoint::sweep(fs, folder.checkpoints());
  checkpoint::sweep(fs, folder.features());
  sweep(fs, folder.samples());
  sweep(fs, folder.environment());
}

namespace {

// Before anything in the folder is renewed: `recipe` may say where other data lies.
void require_data_of_run(const RunFolder& folder, const ledger::Ledger& ledger,
                         const data::Dataset& dataset) {
  const hash::Digest mine = dataset.hash(), theirs = ledger.header.data;
  if (mine == theirs) return;
  throw Error(Code::kData,
              "the data set is not the one of " + folder.root.string() + ": its hash is " +
                  mine.brief() + ", the ledger says " + theirs.brief(),
              "give the run's data by --set data.path=PATH, or another folder with --run");
}

// A folder without a run may be anybody's: nothing is put beside what lies there. Empty folders of
// a run's names are what an attempt left that failed early; names with a dot are nobody's work.
void require_no_strangers(FileSystem& fs, const RunFolder& folder) {
  for (const std::string& name : fs.list(folder.root)) {
    if (name.starts_with('.')) continue;
    const stdfs::path path = folder.root / name;
    const auto parts = folder.folders();
    std::string first = path.string();
    if (std::ranges::find(parts, path) != parts.end()) {
      const auto names = fs.list(path);
      if (names.empty()) continue;
      first = (path / names.front()).string();
    }
    throw Error(Code::kUsage, folder.root.string() + " is no run, but has " + first,
                "give a new or an empty folder, or a run's, with --run");
  }
}

// The run's recipe; none where it is missing or damaged (`adopted` says what) and the ledger says
// that `mine` is the same: then that is to be written anew.
std::optional<recipe::Recipe> recipe_there(FileSystem& fs, const RunFolder& folder,
                                           const recipe::Recipe& mine, Adopted& adopted) {
  try {
    return recipe::of_run(fs, folder.root);
  } catch (const Error& error) {
    if (error.code() != Code::kCorrupt) throw;
    adopted.ledger = ledger::read_existing(fs, folder.ledger());
    if (!adopted.ledger || adopted.ledger->ledger.header.recipe != recipe::id(mine)) throw;
    adopted.mended = error.message();
    return std::nullopt;
  }
}

}  // namespace

Adopted adopt_recipe(FileSystem& fs, const RunFolder& folder, recipe::Recipe recipe,
                     const data::Dataset& dataset) {
  for (const stdfs::path& file : {folder.recipe(), folder.ledger(), folder.classes()})
    fs.remove_abandoned(temporary_of(file));
  Adopted adopted;
  if (fs.exists(folder.recipe()) || fs.exists(folder.ledger())) {
    const auto& there = adopted.before = recipe_there(fs, folder, recipe, adopted);
    const std::string mine = recipe::canonical_bits(recipe),
                      theirs = recipe::canonical_bits(there.value_or(recipe));
    if (mine != theirs) {
      throw Error(Code::kUsage,
                  folder.root.string() +
                      " is a run of another recipe: " + recipe::first_difference(mine, theirs),
                  "`lockstep train " + folder.root.string() +
                      "` goes on with its own; the other needs another folder (--run), and "
                      "starts from this run's state by train RECIPE --from " +
                      folder.root.string() + " --run NEW");
    }
    require_ledger(fs, folder, "restore it from a copy, or give another folder with --run");
    if (!adopted.ledger) adopted.ledger = ledger::read_existing(fs, folder.ledger());
    if (adopted.ledger) {
      const ledger::Ledger& ledger = adopted.ledger->ledger;
      require_data_of_run(folder, ledger, dataset);
      // It says no fewer steps than are done.
      recipe.run.steps = std::max(recipe.run.steps, ledger.last().value);
    }
    if (there && read_text(fs, folder.recipe()) == recipe::run_text(recipe)) return adopted;
  } else {
    require_no_strangers(fs, folder);
  }
  publish(fs, folder.recipe(), as_bytes(recipe::run_text(recipe)));
  return adopted;
}

}  // namespace lockstep::train
