#include "numerics/cpu/workers.h"

#include "lockstep/core/thread.h"

namespace lockstep::numerics {
namespace {

// Some tens of microseconds: longer than between two kernels of a step.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Workers::Workers(int count) {
  try {
    for (int i = 0; i < count; ++i) threads_.push_back(start_thread([this] { work(); }));
  } catch (...) {
    stop();  // those that did start
    throw;
  }
}

Workers::~Workers() {
  stop();
}

void Workers::stop() {
  stop_ = true;
  ++announced_;
  wake();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(std::int64_t pieces, const std::function<void(std::int64_t)>& piece) {
  piece_ = &piece;
  pieces_ = pieces;
  next_ = 0;
  open_ = true;
  ++announced_;
  if (sleeping_ > 0) wake();
  take_pieces();
  // From here nobody enters; who is inside finishes its piece. A worker counts itself in before it
  // looks at open_, and these are sequentially consistent, so none is overlooked.
  open_ = false;
  for (int spin = 0; inside_ > 0; ++spin) spin < kSpins ? pause() : std::this_thread::yield();
}

// Whoever counted itself among the sleepers has looked at announced_, or holds the lock until it
// sleeps.
void Workers::wake() {
  { const std::scoped_lock lock(mutex_); }
  awake_.notify_all();
}

void Workers::take_pieces() {
  for (std::int64_t i = next_++; i < pieces_; i = next_++) (*piece_)(i);
}

void Workers::work() {
  std::uint32_t seen = 0;
  while (true) {
    for (int spin = 0; announced_ == seen && spin < kSpins; ++spin) pause();
    if (announced_ == seen) {
      std::unique_lock lock(mutex_);
      ++sleeping_;
      awake_.wait(lock, [&] { return announced_ != seen; });
      --sleeping_;
    }
    seen = announced_;
    if (stop_) return;
    ++inside_;
    if (open_) take_pieces();
    --inside_;
  }
}

}  // namespace lockstep::numerics
