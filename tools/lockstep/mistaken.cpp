#include "mistaken.h"

#include <algorithm>
#include <string>
#include <vector>

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/data/decode.h"
#include "lockstep/data/shards.h"
#include "lockstep/train/file_kind.h"
#include "lockstep/train/run_folder.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

using train::FileKind;

[[noreturn]] void refuse(const stdfs::path& path, const std::string& what,
                         const std::string& hint) {
  throw Error(Code::kUsage, path.string() + " is " + what, hint);
}

bool are_arrays(FileKind kind) {
  return kind == FileKind::kArrays || kind == FileKind::kSampleArrays;
}

bool is_run(const stdfs::path& folder) {
  return train::is_run(real_file_system(), {folder});
}

// In the folder itself, or in folders of classes.
bool has_pictures(const stdfs::path& folder, int deep = 1) {
  std::error_code error;
  return std::ranges::any_of(stdfs::directory_iterator(folder, error), stdfs::directory_iterator(),
                             [deep](const stdfs::directory_entry& entry) {
                               std::error_code gone;
                               const std::string name = entry.path().filename().string();
                               return data::is_picture_name(name) ||
                                      (deep > 0 && entry.is_directory(gone) &&
                                       !is_run(entry.path()) &&
                                       has_pictures(entry.path(), deep - 1));
                             });
}

}  // namespace

bool is_data_folder(const stdfs::path& path) {
  return !is_run(path) && data::is_sharded(path);
}

bool is_checkpoint(const stdfs::path& path) {
  return checkpoint::step_of(path.filename().string()) ||
         train::kind_of(path) == FileKind::kCheckpoint;
}

void require_no_other_than_recipe(const stdfs::path& path) {
  const std::string name = path.string();
  const std::string pack =
      "`lockstep pack " + name + " data.h5`, then name data.h5 in a recipe: path in [data]";
  switch (train::kind_of(path)) {
    case FileKind::kPack:
      refuse(path, "a data file, no recipe", "name it in a recipe: path in [data]");
    case FileKind::kArrays:
    case FileKind::kSampleArrays:
      refuse(path, "a file of arrays, no recipe", pack);
    case FileKind::kPicture:
    case FileKind::kSamplePicture:
      refuse(path, "a picture, no recipe", "a folder of pictures is data: lockstep help pack");
    case FileKind::kCheckpoint:
      refuse(path, "a checkpoint, no recipe",
             "give its run's folder; for a new run from it a recipe, and --from RUN@STEP");
    case FileKind::kLedger:
    case FileKind::kTrace:
      refuse(path, "a ledger or a trace, no recipe", "give the run's folder");
    default:
      return;
  }
}

void require_no_other_than_samples(const stdfs::path& path) {
  const FileKind kind = train::kind_of(path);
  if (are_arrays(kind) || kind == FileKind::kPack) return;
  if (is_data_folder(path))
    refuse(path, "a folder of shards, no run",
           "`lockstep pack " + path.string() + " pictures.h5` makes one file of them; give that");
  if (!is_run(path) && has_pictures(path))
    refuse(path, "a folder of pictures, no run",
           "`lockstep pack " + path.string() + " pictures.h5` makes a file of them; give that");
  require_no_other_than_run(path);
}

void require_no_other_than_run(const stdfs::path& path) {
  const std::string no_run = ", no run and no checkpoint";
  switch (train::kind_of(path)) {
    case FileKind::kPack:
      refuse(path, "a data file" + no_run, "`lockstep inspect " + path.string() + "` checks it");
    case FileKind::kArrays:
    case FileKind::kSampleArrays:
      refuse(path, "a file of arrays" + no_run, "give the folder that `lockstep train` made");
    case FileKind::kPicture:
    case FileKind::kSamplePicture:
      refuse(path, "a picture" + no_run,
             "`lockstep inspect " + path.string() + "` says which run made it");
    case FileKind::kRecipe:
      refuse(path, "a recipe" + no_run,
             "`lockstep train " + path.string() + "` trains it; then give the run's folder");
    case FileKind::kLedger:
    case FileKind::kTrace:
      refuse(path, "a ledger or a trace" + no_run, "give the run's folder");
    default:
      return;
  }
}

void require_comparable(const stdfs::path& path) {
  const FileKind kind = train::kind_of(path);
  if (kind == FileKind::kSampleArrays || kind == FileKind::kWeights)
    throw Error(Code::kCannotCompare,
                path.string() + " is " + train::described(kind) + ", and those are not compared",
                "`cmp` compares their bytes; an archive's say what made it, too");
  if (kind == FileKind::kPack)
    throw Error(Code::kCannotCompare, path.string() + " is a data file, and those are not compared",
                "`lockstep inspect " + path.string() + "` shows its hashes");
}

std::string meant_beside(const stdfs::path& path,
                         const std::function<bool(const stdfs::path&)>& takes) {
  std::vector<std::string> names;
  std::error_code absent;
  const stdfs::path folder = path.has_parent_path() ? path.parent_path() : stdfs::path(".");
  for (const stdfs::path& one : stdfs::directory_iterator(folder, absent))
    if (takes(one)) names.push_back(one.filename().string());
  std::ranges::sort(names);
  const auto near = nearest_word(path.filename().string(), names);
  return near ? "did you mean '" + (path.parent_path() / *near).string() + "'? " : "";
}

}  // namespace lockstep::cli
