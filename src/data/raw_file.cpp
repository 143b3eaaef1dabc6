#include "raw_file.h"

#include <string>
#include <system_error>

#include "lockstep/core/error.h"

namespace lockstep::data {

std::unique_ptr<File> open_data_file(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) {
    throw Error(Code::kData, "cannot read data file " + path.string() + ": " + error.message(),
                "set data.path, e.g. --set data.path=/usr/share/datasets/fashion-mnist");
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
