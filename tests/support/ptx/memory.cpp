#include "support/ptx/memory.h"

namespace lockstep::test::ptx {

void Memory::add(const void* start, std::size_t bytes) {
  const std::scoped_lock lock(mutex_);
  const auto first = reinterpret_cast<std::uint64_t>(start);
  ranges_[first] = first + bytes;
  ++changes_;
}

void Memory::remove(const void* start) {
  const std::scoped_lock lock(mutex_);
  ranges_.erase(reinterpret_cast<std::uint64_t>(start));
  ++changes_;
}

Memory::Range Memory::around(std::uint64_t byte) {
  const std::scoped_lock lock(mutex_);
  auto at = ranges_.upper_bound(byte);
  if (at == ranges_.begin()) return {};
  --at;
  if (byte >= at->second) return {};
  return {at->first, at->second};
}

Memory& memory() {
  static Memory all;
  return all;
}

}  // namespace lockstep::test::ptx
