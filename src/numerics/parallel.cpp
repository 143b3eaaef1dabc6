#include "lockstep/numerics/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "numerics/floating_point_mode.h"
#include "numerics/workers.h"

namespace lockstep::numerics {
namespace {

// More pieces than threads: a thread that is late does fewer.
constexpr std::int64_t kPiecesPerThread = 2;

thread_local int thread_count = 1;
thread_local bool inside_a_piece = false;  // nested calls run where they are
thread_local std::unique_ptr<Workers> workers;
std::atomic<bool> idle = false;

// Throws unless this thread rounds to nearest and keeps subnormals.
void check_floating_point_mode() {
  const FloatingPointMode mode = floating_point_mode();
  if (!mode.flushes && !mode.rounds_oddly) return;
  throw Error(
      Code::kEnvironment,
      std::string("a library changed this thread's floating-point mode: ") +
          (mode.flushes ? "subnormal numbers are flushed to zero" : "not rounding to nearest"),
      "find the library that does so (fast-math start-up code, say) and leave it out");
}

}  // namespace

void set_threads(int count) {
  LOCKSTEP_ASSERT(count >= 1, std::to_string(count) + " threads");
  thread_count = count;
}

int threads() {
  return thread_count;
}

void set_idle(bool now) {
  idle = now;
}

void parallel_for(std::int64_t n, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  LOCKSTEP_ASSERT(grain >= 1, "grain " + std::to_string(grain));
  if (n <= 0 || idle) return;
  const std::int64_t grains = (n + grain - 1) / grain;
  const std::int64_t pieces = std::min<std::int64_t>(grains, kPiecesPerThread * thread_count);
  if (pieces == 1 || thread_count == 1 || inside_a_piece) {
    check_floating_point_mode();
    body(0, n);
    return;
  }
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(pieces));
  if (!workers || workers->count() != thread_count - 1)
    workers = std::make_unique<Workers>(thread_count - 1);
  workers->run(pieces, [&](std::int64_t piece) {
    inside_a_piece = true;
    try {
      check_floating_point_mode();
      body(grains * piece / pieces * grain, std::min(n, grains * (piece + 1) / pieces * grain));
    } catch (...) {
      failures[static_cast<std::size_t>(piece)] = std::current_exception();
    }
    inside_a_piece = false;
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace lockstep::numerics
