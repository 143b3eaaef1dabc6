// Private: ends from outside what its own thread cannot. A thread that looks at a stream with a
// deadline may be kept inside its look: another thread loads a kernel, holds the context meanwhile,
// and waits for all of the GPU's work, to which NCCL's belongs (CUDA Programming Guide, "Lazy
// Loading"; github.com/meta-pytorch/torchcomms/pull/2334). If the other rank is gone, that never
// ends by itself.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "lockstep/core/clock.h"
#include "lockstep/core/thread.h"

namespace lockstep::comm {

class Watch {
 public:
  // `end` is called by the watch's thread when a call is late, and says whether it succeeded. It
  // may not call the watch, nor CUDA. If it did not, and the call does not return: `perish`.
  Watch(std::function<bool()> end, std::function<void()> perish)
      : end_(std::move(end)),
        perish_(std::move(perish)),
        thread_(start_thread([this] { look(); })) {}
  ~Watch() {
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // A call that should be over at that time (core/clock.h), and ends by itself if it can.
  void begin(double until) {
    const std::scoped_lock lock(mutex_);
    until_ = until;
    running_ = true;
  }
  // It is over. If the watch is ending it, also that.
  void finish() {
    std::unique_lock lock(mutex_);
    until_.reset();
    running_ = false;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !ending_; });
  }
  // The call that is going on should be over.
  void hurry() {
    const std::scoped_lock lock(mutex_);
    if (until_) until_ = monotonic_seconds();
  }

 private:
  static constexpr double kGrace = 1;  // seconds, in which calls end by themselves
  static constexpr std::chrono::milliseconds kBetweenLooks{250}, kLast{6000};

  void look() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      changed_.wait_for(lock, kBetweenLooks);
      if (!until_ || monotonic_seconds() < *until_ + kGrace) continue;
      until_.reset();
      ending_ = true;
      lock.unlock();
      const bool ended = end_();
      lock.lock();
      ending_ = false;
      changed_.notify_all();
      if (!ended && !changed_.wait_for(lock, kLast, [this] { return !running_; })) perish_();
    }
  }

  const std::function<bool()> end_;
  const std::function<void()> perish_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<double> until_;  // of the call that is going on
  bool running_ = false, ending_ = false, over_ = false;
  std::thread thread_;  // last: it looks at all of these
};

}  // namespace lockstep::comm
