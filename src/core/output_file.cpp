#include "lockstep/core/output_file.h"

#include <system_error>

#include "lockstep/core/error.h"

namespace lockstep {
namespace {

namespace stdfs = std::filesystem;

// What is at `path` that nothing is put in the place of; "" if there is no such thing.
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

}  // namespace

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
    refuse("is what is read: " + kind.what + " does not replace it");
  if (path.has_parent_path() && !stdfs::is_directory(path.parent_path(), reason))
    throw Error(Code::kEnvironment,
                "cannot create " + path.string() + ": " +
                    (reason ? reason : std::make_error_code(std::errc::not_a_directory)).message(),
                "make its folder first");
}

}  // namespace lockstep
