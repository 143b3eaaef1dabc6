// What of the process's memory a GPU may touch: allocations, and the module's variables.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace lockstep::test::ptx {

// Memory of malloc: a test's operator new asks for pages of a GPU (gpu_programs/pinned.cpp).
template <class T>
struct Malloc {
  using value_type = T;
  Malloc() = default;
  template <class Other>
  Malloc(const Malloc<Other>&) {}

  T* allocate(std::size_t count) { return static_cast<T*>(std::malloc(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  bool operator==(const Malloc&) const = default;
};

class Memory {
 public:
  struct Range {
    std::uint64_t first = 0, end = 0;
    std::uint64_t to_host = 0;  // added to an address: where the host finds the byte
  };

  // Not inside of another.
  void add(const void* start, std::size_t bytes, std::uint64_t to_host = 0);
  void remove(const void* start);
  // That the byte is in; empty if there is none.
  Range around(std::uint64_t byte);
  // Rises with each change.
  std::uint64_t changes() const { return changes_; }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, Range, std::less<>, Malloc<std::pair<const std::uint64_t, Range>>>
      ranges_;  // by the first byte
  std::atomic<std::uint64_t> changes_ = 1;
};

// Of this process.
Memory& memory();

}  // namespace lockstep::test::ptx
