#include "support/ptx/profile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "support/ptx/program.h"

namespace lockstep::test::ptx {
namespace {

constexpr std::size_t kBanks = 32, kSector = 32;

constexpr std::pair<const char*, std::uint64_t Counts::*> kFields[] = {
    {"launches", &Counts::launches},
    {"blocks", &Counts::blocks},
    {"warps", &Counts::warps},
    {"clocks", &Counts::clocks},
    {"longest", &Counts::longest},
    {"shared_bytes", &Counts::shared_bytes},
    {"instructions", &Counts::instructions},
    {"fma", &Counts::fma},
    {"binary64", &Counts::binary64},
    {"mma", &Counts::mma},
    {"barriers", &Counts::barriers},
    {"shared", &Counts::shared},
    {"wavefronts", &Counts::wavefronts},
    {"least", &Counts::least},
    {"global", &Counts::global},
    {"sectors", &Counts::sectors},
    {"bytes", &Counts::bytes}};

const char* profile_name() {
  static const char* const name = std::getenv("LOCKSTEP_PTX_PROFILE");
  return name;
}

const char* file_name() {
  static const char* const launched = std::getenv("LOCKSTEP_PTX_LAUNCHED");
  return profile_name() != nullptr ? profile_name() : launched;
}

class Profile {
 public:
  void write() const {
    std::FILE* const file = std::fopen(file_name(), "w");
    if (file == nullptr) return;
    for (const auto& [kernel, counts] : kernels_) {
      std::fprintf(file, "{\"kernel\": \"%s\"", kernel.c_str());
      for (const auto& [name, field] : kFields)
        std::fprintf(file, ", \"%s\": %lu", name, counts.*field);
      std::fputs("}\n", file);
    }
    std::fclose(file);
  }
  void keep(const std::string& kernel, const Counts& counts) {
    const std::scoped_lock lock(mutex_);
    kernels_[kernel].add(counts);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Counts> kernels_;
};

Profile& profile() {
  static Profile whole;
  return whole;
}

void write_profile() {
  profile().write();
}

}  // namespace

void Counts::add(const Counts& other) {
  for (const auto& [name, field] : kFields) this->*field += other.*field;
}

// 16 bytes a lane go by eight lanes, 8 bytes by sixteen.
void count_shared(Counts& counts, const std::uint32_t* addresses, std::size_t bytes,
                  std::uint32_t mask) {
  const std::size_t words = std::max<std::size_t>(bytes / 4, 1), lanes = kLanes / words;
  ++counts.shared;
  for (std::size_t first = 0; first < kLanes; first += lanes) {
    std::array<std::array<std::uint32_t, kLanes>, kBanks> seen;
    std::array<std::size_t, kBanks> count{};
    for (std::size_t l = first; l < first + lanes; ++l) {
      if ((mask >> l & 1U) == 0) continue;
      for (std::size_t w = 0; w < words; ++w) {
        const std::uint32_t word = addresses[l] / 4 + static_cast<std::uint32_t>(w);
        auto& bank = seen[word % kBanks];
        std::size_t& n = count[word % kBanks];
        if (std::find(bank.begin(), bank.begin() + static_cast<std::ptrdiff_t>(n), word) ==
            bank.begin() + static_cast<std::ptrdiff_t>(n))
          bank[n++] = word;
      }
    }
    const std::size_t most = *std::max_element(count.begin(), count.end());
    counts.wavefronts += most;
    counts.least += most > 0;
  }
}

void count_global(Counts& counts, const std::uint64_t* addresses, std::size_t bytes,
                  std::uint32_t mask) {
  std::array<std::uint64_t, kLanes> sectors;
  std::size_t n = 0;
  for (std::size_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1U) == 0) continue;
    counts.bytes += bytes;
    sectors[n++] = addresses[l] / kSector;
  }
  std::sort(sectors.begin(), sectors.begin() + static_cast<std::ptrdiff_t>(n));
  ++counts.global;
  counts.sectors += static_cast<std::uint64_t>(
      std::unique(sectors.begin(), sectors.begin() + static_cast<std::ptrdiff_t>(n)) -
      sectors.begin());
}

bool profiling() {
  return profile_name() != nullptr;
}

bool listing() {
  return file_name() != nullptr;
}

void keep(const std::string& kernel, const Counts& counts) {
  profile().keep(kernel, counts);
  // Either way a program ends; ours leaves by quick_exit.
  [[maybe_unused]] static const bool registered =
      std::atexit(write_profile) == 0 && std::at_quick_exit(write_profile) == 0;
}

}  // namespace lockstep::test::ptx
