#include "train/class_names.h"

#include <algorithm>
#include <optional>

#include "lockstep/core/error.h"
#include "lockstep/core/foreign.h"
#include "lockstep/core/list.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "lockstep/data/labels.h"
#include "lockstep/train/open_run.h"

namespace lockstep::train {
namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t kLongestFile = data::kMostClasses * (data::kLongestClassName + 1);
constexpr std::size_t kMostListed = 20;  // names in a line for people

// For a shell: 'cat,wild dog'. Where they are too many for a line, or do not fit into one, `else_`.
std::string some_names(const data::ClassNames& names, const std::string& else_) {
  const bool fit = std::ranges::none_of(names, [](const std::string& name) {
    return name.find_first_of(",'") != std::string::npos || name.front() == ' ' ||
           name.back() == ' ';
  });
  return names.size() <= kMostListed && fit ? "'" + joined(names, ",") + "'" : else_;
}

// Of "runs/a", "runs/a@500", "runs/a/checkpoints/step-00000500.h5". None of a checkpoint elsewhere.
std::optional<RunFolder> folder_of(const std::string& source) {
  if (const auto saved = state_of_step(source)) return RunFolder{saved->folder};
  if (stdfs::is_directory(source)) return RunFolder{source};
  RunFolder above{stdfs::absolute(source).parent_path().parent_path()};
  return stdfs::absolute(source).parent_path() == above.checkpoints() ? std::optional(above)
                                                                      : std::nullopt;
}

data::ClassNames names_of_run(FileSystem& fs, const std::string& source) {
  const auto folder = folder_of(source);
  if (!folder || !fs.exists(folder->classes())) return {};
  const stdfs::path path = folder->classes();
  try {
    return data::parse_class_names(read_text(fs, path, kLongestFile, Code::kData));
  } catch (const Error& error) {
    if (error.code() != Code::kData) throw;
    const bool named = error.message().find(path.string()) != std::string::npos;
    throw Error(Code::kData, (named ? "" : path.string() + ": ") + error.message(),
                "remove it: the classes then have no names");
  }
}

}  // namespace

void keep_class_names(FileSystem& fs, const RunFolder& folder, const data::Dataset& dataset) {
  const std::string names = data::text_of(dataset.class_names());
  if (names.empty()) return;
  const stdfs::path path = folder.classes();
  if (fs.exists(path)) {
    if (read_text(fs, path) == names) return;
    log::warn("classes are called otherwise in these data than before: " + path.string() +
              " is written anew");
  }
  publish(fs, path, as_bytes(names));
}

std::int64_t class_called(FileSystem& fs, const std::string& source, const std::string& text) {
  if (const auto number = parse_int(text); number && *number >= 0) return *number;
  const data::ClassNames names = names_of_run(fs, source);
  const auto found = std::ranges::find(names, text) - names.begin();
  if (found < std::ssize(names)) return found;
  throw Error(Code::kUsage, "--class " + text + ": the run has no class of that name",
              names.empty()
                  ? "give its number: the names of the classes are not there"
                  : "give its number, or a name: " + some_names(names, "classes.txt has them"));
}

void require_same_classes(FileSystem& fs, const std::string& source, const data::Dataset& dataset) {
  const data::ClassNames run = names_of_run(fs, source), others = dataset.class_names();
  std::string renamed;
  for (std::size_t i = 0; i < others.size() && !run.empty(); ++i) {
    if (i < run.size() && run[i] == others[i]) continue;
    const std::string number = std::to_string(i);
    const auto in_run = std::ranges::find(run, others[i]) - run.begin();
    if (in_run < std::ssize(run))
      throw Error(
          Code::kUsage,
          "the class " + number + " of these data is " + others[i] + ", which is " +
              std::to_string(in_run) + " in the run's",
          "pack them with --classes " +
              some_names(run, "and the names that the run's classes.txt has, in its order"));
    if (i < run.size() && renamed.empty())
      renamed = "the class " + number + " of these data is called " + others[i] + ", and " +
                run[i] + " in the run's: see whether they are the same";
  }
  if (!renamed.empty()) log::warn(renamed);
}

}  // namespace lockstep::train
