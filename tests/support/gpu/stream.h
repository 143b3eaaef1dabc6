// The work of a GPU that the host emulates, in the order of its calls, by any thread; done as late
// as CUDA allows.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

namespace lockstep::test::gpu {

class Stream {
 public:
  // Work on far memory.
  void put(std::function<void()> work);
  // All of it is done.
  void finish();

 private:
  static constexpr std::size_t kMost = 4096;  // that wait: closures take memory

  void run_all();

  std::mutex mutex_;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace lockstep::test::gpu
