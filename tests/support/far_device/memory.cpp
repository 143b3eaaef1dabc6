#include "support/far_device/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "lockstep/core/error.h"

namespace lockstep::testing::far {
namespace {

[[noreturn]] void lacks(const char* call) {
  throw Error(Code::kEnvironment, std::string("far memory: ") + call + ": " + std::strerror(errno));
}

constexpr std::size_t kGap = 16 * kAlignment;

struct Mappings {
  std::uintptr_t far, near;

  Mappings() {
    const int file = memfd_create("far", MFD_CLOEXEC);
    if (file < 0) lacks("memfd_create");
    if (ftruncate(file, static_cast<off_t>(kMemoryBytes)) != 0) lacks("ftruncate");
    far = map(file, PROT_NONE);
    near = map(file, PROT_READ | PROT_WRITE);
    close(file);
    // A child would share the pages, but not the list of what is free.
    if (madvise(reinterpret_cast<void*>(near), kMemoryBytes, MADV_DONTFORK) != 0) lacks("madvise");
  }

  static std::uintptr_t map(int file, int access) {
    void* at = mmap(nullptr, kMemoryBytes, access, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (at == MAP_FAILED) lacks("mmap");
    return reinterpret_cast<std::uintptr_t>(at);
  }
};

const Mappings& mappings() {
  static const Mappings both;
  return both;
}

// First fit, by byte from the start; neighbours that are free are one. Behind each block nobody has
// kGap bytes: who goes on behind its end is seen, where that is looked for (support/ptx).
class Blocks {
 public:
  std::optional<std::size_t> take(std::size_t bytes,
                                  const std::function<std::size_t(std::size_t)>& next) {
    const std::scoped_lock lock(mutex_);
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      const auto [start, length] = *at;
      std::size_t byte = start, asked;
      do {
        asked = byte;
        byte = next(asked);
      } while (byte != asked && byte + bytes + kGap <= start + length);
      const std::size_t end = byte + bytes + kGap;
      if (end > start + length) continue;
      free_.erase(at);
      if (byte > start) free_[start] = byte - start;
      if (start + length > end) free_[end] = start + length - end;
      taken_[byte] = bytes;
      in_use_ += bytes;
      most_ = std::max(most_, in_use_);
      return byte;
    }
    return std::nullopt;
  }

  bool give_back(std::size_t byte) {
    const std::scoped_lock lock(mutex_);
    const auto at = taken_.find(byte);
    if (at == taken_.end()) return false;
    std::size_t bytes = at->second + kGap;
    in_use_ -= at->second;
    taken_.erase(at);
    auto next = free_.lower_bound(byte);
    if (next != free_.end() && byte + bytes == next->first) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == byte) {
        previous->second += bytes;
        return true;
      }
    }
    free_[byte] = bytes;
    return true;
  }

  std::size_t in_use() {
    const std::scoped_lock lock(mutex_);
    return in_use_;
  }
  std::size_t most() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(most_, in_use_);
  }

  std::optional<Place::Allocation> around(std::size_t byte) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return std::nullopt;
    auto at = taken_.upper_bound(byte);
    if (at == taken_.begin()) return std::nullopt;
    --at;
    if (byte - at->first >= at->second) return std::nullopt;
    return Place::Allocation{byte - at->first, at->second};
  }

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_{{0, kMemoryBytes}}, taken_;  // start, bytes
  std::size_t in_use_ = 0, most_ = 0;
};

Blocks& blocks() {
  static auto* const all = new Blocks;  // tensors may outlive static objects
  return *all;
}

}  // namespace

void* allocate(std::size_t bytes) {
  auto* const far = static_cast<char*>(take(bytes));
  if (far != nullptr) std::memset(near(far), 0xff, bytes);
  return far;
}

void* take(std::size_t bytes) {
  return take(bytes, [](const void* at) { return at; });
}

void* take(std::size_t bytes, const std::function<const void*(const void*)>& next) {
  if (bytes == 0 || bytes > kMemoryBytes) return nullptr;
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::optional<std::size_t> byte = blocks().take(rounded, [&](std::size_t at) {
    const void* const place = next(reinterpret_cast<const void*>(mappings().far + at));
    return reinterpret_cast<std::uintptr_t>(place) - mappings().far;
  });
  if (!byte) return nullptr;
  return reinterpret_cast<void*>(mappings().far + *byte);
}

void release(void* far) {
  if (far == nullptr) return;
  LOCKSTEP_ASSERT(is_far(far), "released memory that is not far");
  LOCKSTEP_ASSERT(blocks().give_back(reinterpret_cast<std::uintptr_t>(far) - mappings().far),
                  "released far memory that is no allocation's start");
}

std::size_t bytes_in_use() {
  return blocks().in_use();
}

std::size_t most_in_use() {
  return blocks().most();
}

bool is_far(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - mappings().far < kMemoryBytes;
}

std::uintptr_t near_address(const void* far) {
  if (far == nullptr) return 0;
  const std::uintptr_t byte = reinterpret_cast<std::uintptr_t>(far) - mappings().far;
  LOCKSTEP_ASSERT(byte <= kMemoryBytes, "a kernel of the far device got an address of the host");
  return mappings().near + byte;
}

Kernel::Kernel() {
  if (mprotect(reinterpret_cast<void*>(mappings().far), kMemoryBytes, PROT_READ | PROT_WRITE) != 0)
    lacks("mprotect");
}

Kernel::~Kernel() {
  mprotect(reinterpret_cast<void*>(mappings().far), kMemoryBytes, PROT_NONE);
}

Place place_of(const void* far) {
  const std::size_t byte = reinterpret_cast<std::uintptr_t>(far) - mappings().far;
  return {byte, blocks().around(byte)};
}

}  // namespace lockstep::testing::far
