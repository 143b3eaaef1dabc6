// The work of a GPU that the host emulates, in the order of its calls, by any thread; done as late
// as CUDA allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace lockstep::test::gpu {

// What a process has asked of its emulated GPUs: kernels that it launched, copies to them and
// within them, and how often the host waited for them.
struct Calls {
  std::int64_t launches = 0, copies = 0, waits = 0;
};
Calls calls_so_far();

class Stream {
 public:
  // Work on far memory.
  void launch(std::function<void()> kernel);
  void copy(std::function<void()> work);
  // Neither: memory is filled, for tests to see who reads what nobody wrote.
  void put(std::function<void()> work);
  // All of it is done.
  void wait();

 private:
  static constexpr std::size_t kMost = 4096;  // that wait: closures take memory

  void run_all();

  std::mutex mutex_;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace lockstep::test::gpu
