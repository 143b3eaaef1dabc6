// How many CPUs this process may use.
#pragma once

#include <filesystem>
#include <optional>

namespace lockstep {

// What a container's or a pod's limit (docker run --cpus) leaves of them, rounded up: the least of
// cpu.max (cgroups, version 2) or cpu.cfs_quota_us (version 1) of this process's group and of those
// around it. Nothing where there is no limit. `root` stands in front of /proc and /sys.
std::optional<int> cpu_quota(const std::filesystem::path& root = "/");

// The CPUs for this process, where `processes` (>= 1) divide the host's or the quota among them; not
// more than it may run on (taskset, a launcher's binding). At least 1.
int usable_cpus(int processes);

}  // namespace lockstep
