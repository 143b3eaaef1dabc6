#include "lockstep/data/prefetch.h"

#include <utility>

#include "lockstep/core/thread.h"

namespace lockstep::data {

Prefetch::Prefetch(const Dataset& dataset, const Order& order, std::int64_t count,
                   std::int64_t stride, const Augment& augment)
    : dataset_(dataset),
      order_(order),
      augment_(augment),
      count_(count),
      stride_(stride),
      thread_(start_thread([this] { work(); })) {}

Prefetch::~Prefetch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Batch Prefetch::take(Draw first) {
  std::unique_lock lock(mutex_);
  if (wanted_ != first) {  // first call, or a wrong guess: what is under way is thrown away
    wanted_ = first;
    ready_.reset();
    failure_ = nullptr;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return ready_.has_value() || failure_ != nullptr; });
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  std::optional<Batch> batch = std::exchange(ready_, std::nullopt);
  // After a failure nothing is read ahead: the next call for the same draws tries again.
  wanted_ = failure ? std::nullopt : std::optional(first + stride_);
  changed_.notify_all();
  if (failure) std::rethrow_exception(failure);
  return std::move(*batch);
}

void Prefetch::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || (wanted_ && !ready_ && !failure_); });
    if (stop_) return;
    const Draw first = *wanted_;
    lock.unlock();
    std::optional<Batch> batch;
    std::exception_ptr failure;
    try {
      batch = assemble(dataset_, order_, first, count_, augment_);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (wanted_ != first) continue;  // the guess was wrong meanwhile
    ready_ = std::move(batch);
    failure_ = failure;
    changed_.notify_all();
  }
}

}  // namespace lockstep::data
