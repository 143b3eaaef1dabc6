#include "raw_file.h"

#include <string>
#include <system_error>

#include "lockstep/core/error.h"
#include "lockstep/data/sources.h"

namespace lockstep::data {

std::string hint_for_missing(const std::filesystem::path& path, const std::string& usual) {
  const std::string text = path.string();
  if (text.starts_with("/usr/share/datasets/fashion-mnist"))
    return "install Debian's package dataset-fashion-mnist, or say where its four IDX files lie: "
           "--set data.path=FOLDER";
  if (text.find("/~") != std::string::npos || text.starts_with("~"))
    return "only the shell knows ~, at the beginning of a word: give the whole path";
  return usual;
}

std::unique_ptr<File> open_data_file(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) {
    throw Error(Code::kData, "cannot read data file " + path.string() + ": " + error.message(),
                hint_for_missing(path,
                                 "give the path of an IDX file, of a folder with one, or of what "
                                 "`lockstep pack` made"));
  }
  if (!fs::is_regular_file(real, error)) {
    throw Error(Code::kData, path.string() + " is not a regular file");
  }
  try {
    return real_file_system().open_read(real);
  } catch (const Error& e) {
    throw Error(Code::kData, e.message(), e.hint());
  }
}

}  // namespace lockstep::data
