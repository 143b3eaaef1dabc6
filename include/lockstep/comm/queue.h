// A rank's operations in one line, and a thread that carries them out while the rank computes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "lockstep/comm/group.h"

namespace lockstep::comm {

// Passes operations on to `group`, which must outlive it. An operation waits for the jobs before
// it, then runs in the caller's thread. What was not begun when the queue is destroyed is dropped;
// a job that is under way is waited for (abort the group first, if others will not come).
class Queue final : public Group {
 public:
  explicit Queue(Group& group);
  ~Queue() override;

  Rank rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  bool takes_device_memory() const override { return group_.takes_device_memory(); }
  void all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                  Memory memory = Memory::kHost) override;
  void all_gather(ByteView mine, std::span<const MutableByteView> from,
                  Memory memory = Memory::kHost) override;
  void broadcast(Rank root, MutableByteView buffer) override;
  void barrier() override;
  Journal* journal() override { return group_.journal(); }
  void abort(const Error& reason) override { group_.abort(reason); }
  std::future<void> start(Job job, std::function<void()> until_ready = {}) override;

  // Seconds that operations and jobs took so far, from when they were ready: for the most part
  // waiting for other ranks.
  double seconds() const;

 private:
  void work();
  void in_turn(const std::function<void()>& operation);
  void timed(const std::function<void()>& operation);

  Group& group_;
  mutable std::mutex mutex_;  // all below
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> line_;  // the first one may be under way
  bool closing_ = false;
  double seconds_ = 0;
  std::thread thread_;
};

}  // namespace lockstep::comm
