#include "lockstep/comm/queue.h"

#include "lockstep/core/clock.h"
#include "lockstep/core/thread.h"

namespace lockstep::comm {

Queue::Queue(Group& group) : group_(group), thread_(start_thread([this] { work(); })) {}

Queue::~Queue() {
  {
    std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Queue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !line_.empty(); });
    if (closing_) return;
    std::packaged_task<void()>& task = line_.front();  // stays in line while it runs
    lock.unlock();
    task();
    lock.lock();
    line_.pop_front();
    changed_.notify_all();
  }
}

std::future<void> Queue::start(Job job, std::function<void()> until_ready) {
  std::packaged_task<void()> task([this, job = std::move(job), ready = std::move(until_ready)] {
    if (ready) ready();
    timed([&] { job(group_); });
  });
  std::future<void> end = task.get_future();
  {
    std::scoped_lock lock(mutex_);
    line_.push_back(std::move(task));
  }
  changed_.notify_all();
  return end;
}

void Queue::in_turn(const std::function<void()>& operation) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return line_.empty(); });
  }
  timed(operation);
}

void Queue::timed(const std::function<void()>& operation) {
  const double began = monotonic_seconds();
  operation();
  const double took = monotonic_seconds() - began;
  std::scoped_lock lock(mutex_);
  seconds_ += took;
}

double Queue::seconds() const {
  std::scoped_lock lock(mutex_);
  return seconds_;
}

void Queue::all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                       Memory memory) {
  in_turn([&] { group_.all_to_all(to, from, memory); });
}

void Queue::all_gather(ByteView mine, std::span<const MutableByteView> from, Memory memory) {
  in_turn([&] { group_.all_gather(mine, from, memory); });
}

void Queue::broadcast(Rank root, MutableByteView buffer) {
  in_turn([&] { group_.broadcast(root, buffer); });
}

void Queue::barrier() {
  in_turn([&] { group_.barrier(); });
}

}  // namespace lockstep::comm
