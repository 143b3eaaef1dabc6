#include "support/gpu/stream.h"

#include <atomic>
#include <utility>

#include "support/far_device/memory.h"

namespace lockstep::test::gpu {

namespace {

std::atomic<std::int64_t> launches = 0, copies = 0, waits = 0;

}  // namespace

Calls calls_so_far() {
  return {launches, copies, waits};
}

void Stream::launch(std::function<void()> kernel) {
  ++launches;
  put(std::move(kernel));
}

void Stream::copy(std::function<void()> work) {
  ++copies;
  put(std::move(work));
}

void Stream::put(std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  waiting_.push_back(std::move(work));
  if (waiting_.size() == kMost) run_all();
}

void Stream::wait() {
  ++waits;
  const std::scoped_lock lock(mutex_);
  run_all();
}

void Stream::run_all() {
  if (waiting_.empty()) return;
  const testing::far::Kernel readable;
  for (const auto& work : waiting_) work();
  waiting_.clear();
}

}  // namespace lockstep::test::gpu
