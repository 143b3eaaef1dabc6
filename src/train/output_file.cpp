#include "lockstep/train/output_file.h"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/core/file_system.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/train/run_folder.h"

namespace lockstep::train {
namespace {

namespace stdfs = std::filesystem;

// What is at `path` and must not be replaced; "" if nothing is.
std::string in_the_way(const stdfs::path& path) {
  std::error_code absent;
  switch (stdfs::symlink_status(path, absent).type()) {
    case stdfs::file_type::directory:
      return "a folder";
    case stdfs::file_type::symlink:
      return "a symbolic link";
    case stdfs::file_type::block:
    case stdfs::file_type::character:
      return "a device";
    case stdfs::file_type::fifo:
      return "a FIFO";
    case stdfs::file_type::socket:
      return "a socket";
    default:
      return "";
  }
}

// Whether `inside`, relative to a run's folder, is a name that the run uses. Its temporary files
// count, too.
bool is_of_a_run(const stdfs::path& inside) {
  if (inside.empty()) return false;
  std::string first = inside.begin()->string();
  first = without_temporary(first);
  const RunFolder run{""};
  const auto among = [&](const std::vector<stdfs::path>& names) {
    return std::ranges::find(names, stdfs::path(first)) != names.end();
  };
  if (among(run.folders())) return true;
  return !inside.has_parent_path() && among(run.files());
}

// Whether it has a ledger, or the recipe that a run writes before it.
bool is_run(const RunFolder& folder) {
  std::error_code absent;
  if (stdfs::exists(stdfs::symlink_status(folder.ledger(), absent))) return true;
  if (!stdfs::is_regular_file(folder.recipe(), absent)) return false;
  std::string begin(recipe::kRunTextBegin.size(), ' ');
  std::ifstream(folder.recipe()).read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == recipe::kRunTextBegin;
}

// The folder of the run that uses the name `path`; "" if there is none. Links above the path's last
// part are followed, as they are when it is written.
stdfs::path run_that_names(const stdfs::path& path) {
  std::error_code absent;
  stdfs::path inside = path.filename(),
              folder = stdfs::weakly_canonical(stdfs::absolute(path, absent).parent_path(), absent);
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    if (is_of_a_run(inside) && is_run({folder})) return stdfs::proximate(folder, absent);
    inside = folder.filename() / inside;
  }
  return {};
}

// Whether nothing of another kind would be lost.
bool may_be_replaced(const stdfs::path& path, FileKind by) {
  std::error_code absent;
  if (stdfs::symlink_status(path, absent).type() == stdfs::file_type::not_found) return true;
  return kind_of(path) == by || (stdfs::file_size(path, absent) == 0 && !absent);
}

}  // namespace

void require_no_name_of_a_run(const stdfs::path& path, const std::string& what) {
  const stdfs::path run = run_that_names(path);
  if (run.empty()) return;
  throw Error(Code::kUsage,
              path.string() + " is a name that the run " + run.string() +
                  " keeps for itself, and no place for " + what,
              "give another name or folder, such as " + (run / "other").string() +
                  path.filename().extension().string());
}

void require_output(const stdfs::path& path, const OutputKind& kind, const stdfs::path& source) {
  const std::string hint = "give a name" + (kind.ending.empty() ? "" : " in " + kind.ending);
  const auto refuse = [&](const std::string& what) {
    throw Error(Code::kUsage, (path.empty() ? "''" : path.string()) + " " + what, hint);
  };
  if (path == "-") refuse("is no file's name: " + kind.what + " does not go to standard output");
  if (const std::string what = in_the_way(path); !what.empty())
    refuse("is " + what + ", which " + kind.what + " does not replace");
  if (path.empty() || !path.string().ends_with(kind.ending)) refuse("is no name for " + kind.what);
  std::error_code reason;
  if (stdfs::equivalent(path, source, reason))
    refuse("is the input: " + kind.what + " does not replace it");
  require_no_name_of_a_run(path, kind.what);
  if (kind.replaces && !may_be_replaced(path, *kind.replaces))
    throw Error(Code::kUsage,
                path.string() + " is " + described(kind_of(path)) + ": " + kind.what +
                    " does not replace it",
                "give another name, or remove it");
  if (path.has_parent_path() && !stdfs::is_directory(path.parent_path(), reason))
    throw Error(Code::kEnvironment,
                "cannot create " + path.string() + ": " +
                    (reason ? reason : std::make_error_code(std::errc::not_a_directory)).message(),
                "make its folder first");
}

void require_outputs(const stdfs::path& folder, const OutputKind& kind,
                     std::span<const std::string> names) {
  const bool there = real_file_system().exists(folder);
  for (const std::string& name : names) {
    if (there)
      require_output(folder / name, kind);
    else
      require_no_name_of_a_run(folder / name, kind.what);
  }
}

}  // namespace lockstep::train
