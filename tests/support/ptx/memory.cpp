#include "support/ptx/memory.h"

namespace lockstep::test::ptx {

void Memory::add(const void* start, std::size_t bytes, std::uint64_t to_host) {
  const std::scoped_lock lock(mutex_);
  const auto first = reinterpret_cast<std::uint64_t>(start);
  ranges_[first] = {first, first + bytes, to_host};
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
  return byte < at->second.end ? at->second : Range();
}

Memory& memory() {
  static Memory all;
  return all;
}

}  // namespace lockstep::test::ptx
