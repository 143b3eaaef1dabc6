// How much memory this process may still take, and what says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lockstep {

struct MemoryLeft {
  std::int64_t bytes = 0;  // not below 0
  std::string limit;       // "the cgroup's memory.max", "the address space (ulimit -v)", …
};

std::string to_text(const MemoryLeft& left);  // "free memory (MemAvailable) leaves 3.2 GiB"

// The least of what these leave:
//   cgroup       memory.max (v2) or memory.limit_in_bytes (v1) of this process's group and of those
//                around it, less what they use; file cache that nobody uses counts as free
//   RLIMIT_AS    less what this process has mapped;  RLIMIT_DATA less its data
//   MemAvailable of /proc/meminfo
// `processes`: that start here together and share the first and the last (>= 1). `root` stands in
// front of /proc and /sys. Nothing where none can be read. Reads the system, changes nothing.
std::optional<MemoryLeft> memory_left(int processes, const std::filesystem::path& root = "/");

// The most physical memory that this process has had, in bytes.
std::int64_t peak_memory();

}  // namespace lockstep
