// Private: how many launches of a stream may be under way. Behind some 1000 calls the driver lets
// the host wait, where no deadline reaches; an event is waited for with one (must.cuh). What comes
// with a launch counts there, too: its memory's calls, events.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "numerics/cuda/event.cuh"

namespace lockstep::numerics::cuda {

class Backlog {
 public:
  explicit Backlog(int number) : marks_{{Event(number), Event(number)}} {}

  // Before a launch, in any thread: at most twice kSome others are under way when it returns.
  void add(cudaStream_t stream) {
    if (++launches_ % kSome != 0) return;
    const std::scoped_lock lock(mutex_);
    marks_[turn_].wait();
    marks_[turn_].record(stream);
    turn_ = 1 - turn_;
  }

 private:
  static constexpr std::uint64_t kSome = 64;

  std::atomic<std::uint64_t> launches_ = 0;
  std::mutex mutex_;  // all below
  std::array<Event, 2> marks_;
  std::size_t turn_ = 0;
};

}  // namespace lockstep::numerics::cuda
