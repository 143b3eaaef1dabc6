#include "mistaken.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep::cli {
namespace {

namespace stdfs = std::filesystem;

constexpr std::streamoff kEnds = 64 << 10;  // bytes: HDF5 has the format at one of the ends

enum class Given { kUnknown, kPack, kArrays, kPictures, kCheckpoint, kRecipe, kLedger };

Given seen(const stdfs::path& path) {
  std::error_code unreadable;
  if (!stdfs::is_regular_file(path, unreadable)) return Given::kUnknown;
  std::ifstream file(path, std::ios::binary);
  const auto read_at = [&](std::streamoff offset) {
    std::string bytes(kEnds, '\0');
    file.clear();
    file.seekg(offset);
    file.read(bytes.data(), kEnds);
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    return bytes;
  };
  const std::string head = read_at(0);
  const auto begins = [&](std::string_view with) { return head.starts_with(with); };
  if (begins("\x89HDF")) {
    if (checkpoint::step_of(path.filename().string())) return Given::kCheckpoint;
    const auto size = static_cast<std::streamoff>(stdfs::file_size(path, unreadable));
    const std::string both = head + read_at(std::max<std::streamoff>(size - kEnds, 0));
    if (both.find("lockstep checkpoint") != std::string::npos) return Given::kCheckpoint;
    for (const char* pack : {"lockstep images", "lockstep fields", "lockstep signals"})
      if (both.find(pack) != std::string::npos) return Given::kPack;
    return Given::kUnknown;
  }
  if (begins("\x93NUMPY") || begins("PK\x03\x04")) return Given::kArrays;
  if (begins("\x89PNG") || begins("\xff\xd8\xff")) return Given::kPictures;
  if (begins("{\"lockstep\":")) return Given::kLedger;
  return path.extension() == ".toml" ? Given::kRecipe : Given::kUnknown;
}

[[noreturn]] void refuse(const stdfs::path& path, const std::string& what,
                         const std::string& hint) {
  throw Error(Code::kUsage, path.string() + " is " + what, hint);
}

}  // namespace

bool is_checkpoint(const stdfs::path& path) {
  return checkpoint::step_of(path.filename().string()) || seen(path) == Given::kCheckpoint;
}

void require_no_other_than_recipe(const stdfs::path& path) {
  const std::string name = path.string();
  const std::string pack =
      "`lockstep pack " + name + " data.h5`, then name data.h5 in a recipe: path in [data]";
  switch (seen(path)) {
    case Given::kPack:
      refuse(path, "a data file, no recipe", "name it in a recipe: path in [data]");
    case Given::kArrays:
      refuse(path, "a file of arrays, no recipe", pack);
    case Given::kPictures:
      refuse(path, "a picture, no recipe", "a folder of pictures is data: lockstep help pack");
    case Given::kCheckpoint:
      refuse(path, "a checkpoint, no recipe",
             "give its run's folder; for a new run from it a recipe, and --from RUN@STEP");
    case Given::kLedger:
      refuse(path, "a ledger or a trace, no recipe", "give the run's folder");
    default:
      return;
  }
}

void require_no_other_than_samples(const stdfs::path& path) {
  if (seen(path) != Given::kArrays) require_no_other_than_run(path);
}

void require_no_other_than_run(const stdfs::path& path) {
  const std::string no_run = ", no run and no checkpoint";
  switch (seen(path)) {
    case Given::kPack:
      refuse(path, "a data file" + no_run, "`lockstep inspect " + path.string() + "` checks it");
    case Given::kArrays:
      refuse(path, "a file of arrays" + no_run, "give the folder that `lockstep train` made");
    case Given::kPictures:
      refuse(path, "a picture" + no_run,
             "`lockstep inspect " + path.string() + "` says which run made it");
    case Given::kRecipe:
      refuse(path, "a recipe" + no_run,
             "`lockstep train " + path.string() + "` trains it; then give the run's folder");
    case Given::kLedger:
      refuse(path, "a ledger or a trace" + no_run, "give the run's folder");
    default:
      return;
  }
}

void require_no_data(const stdfs::path& path) {
  if (seen(path) == Given::kPack)
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
