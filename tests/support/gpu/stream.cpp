#include "support/gpu/stream.h"

#include <utility>

#include "support/far_device/memory.h"

namespace lockstep::test::gpu {

void Stream::put(std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  waiting_.push_back(std::move(work));
  if (waiting_.size() == kMost) run_all();
}

void Stream::finish() {
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
