#include "lockstep/core/cpus.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "lockstep/core/cgroups.h"
#include "lockstep/core/text.h"

namespace lockstep {
namespace {

namespace stdfs = std::filesystem;

std::optional<std::int64_t> next_number(std::istream& in) {
  std::string word;
  return in >> word ? parse_int(word) : std::nullopt;
}

// Of one group: microseconds that it may run in each period.
std::optional<int> quota_of(const stdfs::path& folder, bool unified) {
  std::ifstream first(folder / (unified ? "cpu.max" : "cpu.cfs_quota_us"));
  const auto quota = next_number(first);  // "max" and -1: no limit
  std::ifstream second(folder / "cpu.cfs_period_us");
  const auto period = next_number(unified ? first : second);
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<int>(std::min<std::int64_t>((*quota - 1) / *period + 1, 1 << 20));
}

// That the calling thread may run on.
std::optional<int> allowed_cpus() {
  for (std::size_t sets = 1; sets <= 1024; sets *= 2) {  // of 1024 CPUs each
    std::vector<cpu_set_t> mask(sets);
    const std::size_t bytes = sets * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> cpu_quota(const stdfs::path& root) {
  std::optional<int> least;
  for (const Cgroups& groups : cgroups_of("cpu", root))
    for (const stdfs::path& folder : groups.folders)
      if (const auto quota = quota_of(folder, groups.unified))
        least = std::min(least.value_or(*quota), *quota);
  return least;
}

int usable_cpus(int processes) {
  const int all = static_cast<int>(std::thread::hardware_concurrency());  // of the host
  const int shared = std::min(all, cpu_quota().value_or(all)) / processes;
  return std::max(1, std::min(shared, allowed_cpus().value_or(shared)));
}

}  // namespace lockstep
