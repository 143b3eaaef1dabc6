// A machine's /proc and /sys, as far as a test gives them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "support/temporary_folder.h"

namespace lockstep::testing {

class SystemFiles {
 public:
  void file(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::filesystem::path root() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace lockstep::testing
