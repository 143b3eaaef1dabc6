// The guard of portable numerics: LibTorch holds, views and copies tensors; all arithmetic is ours.
//
// LibTorch's sums, its add with alpha, silu, normal_ … have other bits on another CPU. While a
// guard lives, LibTorch's observer (at::RecordFunction) reports every operator in every thread, the
// autograd engine's own additions too. What is not movement of data (src/ops/movement.cpp, one
// table) is remembered with its place (where.h), and thrown by the next op of ours or at the end of
// the guarded scope, whichever comes first: LibTorch swallows what an observer throws.
//
// Seen: operators that go through LibTorch's dispatcher, in all threads. Not seen: loops over
// data_ptr(), direct calls into at::native or at::cpu, and code that switches the observer off. It
// stands against mistakes, not against malice.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <type_traits>

namespace lockstep::ops {

// Several threads may hold one each (ranks as threads), and scopes may be nested; an operator
// counts for the innermost guard of its thread. One in a thread without a guard counts for all
// guards that live: whose thread it is cannot be known.
class Guard {
 public:
  explicit Guard(std::string during);  // "step 7": begins the message
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Throws Error(kBug) naming the first forbidden operator and its place, if there was one.
  void check() const;
  const std::string& during() const { return during_; }
  // Remembers a forbidden operator. Thread-safe; the first one is kept.
  void saw(const std::string& what, const std::string& hint);

 private:
  const std::string during_;
  Guard* const outer_;
  std::atomic<bool> tripped_ = false;
  mutable std::mutex mutex_;
  std::string what_, hint_;
};

// Checks this thread's guard, if it has one. Every op of ours begins with it.
void check_guard();

// body() under a guard, which is checked at its end. If body throws after a forbidden operator ran,
// that operator is the error.
template <class Body>
auto guarded(const std::string& during, Body&& body) {
  Guard guard(during);
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      guard.check();
    } else {
      auto result = body();
      guard.check();
      return result;
    }
  } catch (...) {
    guard.check();
    throw;
  }
}

}  // namespace lockstep::ops
