// What the next step needs, made by a thread of its own while this one computes.
//
// It guesses that what is asked for next starts `stride` draws later. What is made is a pure
// function of its first draw, so a wrong guess (after a resume, at an evaluation) costs time and
// never bits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "lockstep/core/ids.h"
#include "lockstep/core/thread.h"

namespace lockstep::data {

template <class Made>
class Prefetch {
 public:
  using Make = std::function<Made(Draw first)>;

  // make: called in the thread; what it refers to must outlive this. stride: draws from one step to
  // the next, which is the whole batch of all ranks.
  Prefetch(Make make, std::int64_t stride)
      : make_(std::move(make)), stride_(stride), thread_(start_thread([this] { work(); })) {}

  // Waits for at most one that is being made.
  ~Prefetch() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // That of `first`; starts on the one after it. Rethrows what making it threw; an error in one
  // that nobody asks for is dropped. One caller at a time.
  Made take(Draw first) {
    std::unique_lock lock(mutex_);
    if (wanted_ != first) {  // first call, or a wrong guess: what is under way is thrown away
      wanted_ = first;
      ready_.reset();
      failure_ = nullptr;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return ready_.has_value() || failure_ != nullptr; });
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    std::optional<Made> made = std::exchange(ready_, std::nullopt);
    // After a failure nothing is read ahead: the next call for the same draws tries again.
    wanted_ = failure ? std::nullopt : std::optional(first + stride_);
    changed_.notify_all();
    if (failure) std::rethrow_exception(failure);
    return std::move(*made);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || (wanted_ && !ready_ && !failure_); });
      if (stop_) return;
      const Draw first = *wanted_;
      lock.unlock();
      std::optional<Made> made;
      std::exception_ptr failure;
      try {
        made.emplace(make_(first));
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (wanted_ != first) continue;  // the guess was wrong meanwhile
      ready_ = std::move(made);
      failure_ = failure;
      changed_.notify_all();
    }
  }

  const Make make_;
  const std::int64_t stride_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Draw> wanted_;  // what the thread is working on, or has finished
  std::optional<Made> ready_;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::thread thread_;  // last: started when everything above exists
};

}  // namespace lockstep::data
