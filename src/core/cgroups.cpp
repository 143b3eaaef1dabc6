#include "lockstep/core/cgroups.h"

#include <fstream>
#include <string>

namespace lockstep {

std::vector<Cgroups> cgroups_of(std::string_view controller, const std::filesystem::path& root) {
  std::vector<Cgroups> found;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // "0::/a/b", "4:cpu,cpuacct:/a/b"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find("," + std::string(controller) + ",") == std::string::npos)
      continue;
    std::filesystem::path mount = root / "sys/fs/cgroup";
    if (!unified) mount /= controller;
    Cgroups groups{unified, {}};
    std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
    for (; !group.empty(); group = group.parent_path()) groups.folders.push_back(mount / group);
    groups.folders.push_back(mount);
    found.push_back(std::move(groups));
  }
  return found;
}

}  // namespace lockstep
