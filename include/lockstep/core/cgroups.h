// The control groups that this process is in, as cgroups(7) has them.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace lockstep {

struct Cgroups {
  bool unified = false;                        // version 2: its files have other names
  std::vector<std::filesystem::path> folders;  // of the process's own group, then those around it
};

// Where limits of a controller ("memory", "cpu") may be: in both versions, where a system has both.
// `root` stands in front of /proc and /sys. Empty where they cannot be read.
std::vector<Cgroups> cgroups_of(std::string_view controller, const std::filesystem::path& root);

}  // namespace lockstep
