// What of the process's memory a GPU may touch: allocations, and the module's variables.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace lockstep::test::ptx {

class Memory {
 public:
  struct Range {
    std::uint64_t first = 0, end = 0;
  };

  void add(const void* start, std::size_t bytes);
  void remove(const void* start);
  // That the byte is in; empty if there is none.
  Range around(std::uint64_t byte);
  // Rises with each change.
  std::uint64_t changes() const { return changes_; }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  // first, end
  std::atomic<std::uint64_t> changes_ = 1;
};

// Of this process.
Memory& memory();

}  // namespace lockstep::test::ptx
