#include "lockstep/core/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "lockstep/core/cgroups.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

namespace stdfs = std::filesystem;

using Bytes64 = std::optional<std::int64_t>;

// A file that holds one number; nothing for "max".
Bytes64 number_in(const stdfs::path& file) {
  std::ifstream in(file);
  std::string word;
  return in >> word ? parse_int(word) : std::nullopt;
}

// The number behind `key` in lines of "key number".
Bytes64 number_after(const stdfs::path& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word, number;
    if (words >> word >> number && word == key) return parse_int(number);
  }
  return std::nullopt;
}

// What a version of cgroups calls a group's limit, what it uses, and file cache of that.
struct Names {
  const char *limit, *used, *cache;
};

Bytes64 left_in(const stdfs::path& folder, const Names& names) {
  const Bytes64 limit = number_in(folder / names.limit), used = number_in(folder / names.used);
  if (!limit || !used) return std::nullopt;
  const std::int64_t cache =
      number_after(folder / "memory.stat", names.cache).value_or(std::int64_t{0});
  return *limit - std::max<std::int64_t>(0, *used - cache);
}

Bytes64 left_in_cgroups(const stdfs::path& root) {
  for (const Cgroups& groups : cgroups_of("memory", root)) {
    const Names names = groups.unified ? Names{"memory.max", "memory.current", "inactive_file"}
                                       : Names{"memory.limit_in_bytes", "memory.usage_in_bytes",
                                               "total_inactive_file"};
    Bytes64 least;
    for (const stdfs::path& folder : groups.folders)
      if (const Bytes64 left = left_in(folder, names))
        least = std::min(least.value_or(*left), *left);
    if (least) return least;
  }
  return std::nullopt;
}

// Pages that this process has: field `number` of /proc/self/statm.
std::int64_t pages(const stdfs::path& root, int number) {
  std::ifstream in(root / "proc/self/statm");
  std::int64_t value = 0;
  for (int i = 0; i <= number; ++i) in >> value;
  return in ? value * ::sysconf(_SC_PAGESIZE) : 0;
}

Bytes64 left_of(__rlimit_resource_t resource, std::int64_t used) {
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX)) - used;
}

}  // namespace

std::string to_text(const MemoryLeft& left) {
  return left.limit + " leaves " + human_bytes(static_cast<double>(left.bytes));
}

std::optional<MemoryLeft> memory_left(int processes, const stdfs::path& root) {
  std::optional<MemoryLeft> least;
  const auto offer = [&](Bytes64 bytes, const char* limit) {
    if (!bytes || (least && least->bytes <= *bytes)) return;
    least = {std::max<std::int64_t>(0, *bytes), limit};
  };
  const auto share = [&](Bytes64 bytes) { return bytes ? Bytes64(*bytes / processes) : bytes; };
  offer(share(left_in_cgroups(root)), "the cgroup's memory limit");
  offer(left_of(RLIMIT_AS, pages(root, 0)), "the address space (ulimit -v)");
  offer(left_of(RLIMIT_DATA, pages(root, 5)), "the data segment (ulimit -d)");
  const Bytes64 available = number_after(root / "proc/meminfo", "MemAvailable:");
  offer(share(available ? Bytes64(*available * 1024) : available), "free memory (MemAvailable)");
  return least;
}

std::int64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace lockstep
