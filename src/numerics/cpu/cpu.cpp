#include "lockstep/numerics/cpu.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "numerics/cpu/floating_point_mode.h"
#include "numerics/cpu/workers.h"

namespace lockstep::numerics {
namespace {

// More pieces than threads: a thread that is late does fewer.
constexpr std::int64_t kPiecesPerThread = 2;

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

Cpu::Cpu(int threads, Isa isa) : threads_(threads), isa_(isa) {
  LOCKSTEP_ASSERT(threads >= 1, std::to_string(threads) + " threads");
}

Cpu::~Cpu() = default;

std::unique_ptr<Device> Cpu::clone(int threads) const {
  return std::make_unique<Cpu>(threads, isa_);
}

void Cpu::to_host(std::size_t bytes, const void* from, void* to) {
  copy(bytes, from, to);
}

void Cpu::from_host(std::size_t bytes, const void* from, void* to) {
  copy(bytes, from, to);
}

void Cpu::copy(std::size_t bytes, const void* from, void* to) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void Cpu::leaf_hashes(std::span<const ByteView> tiles, hash::Leaf* leaves) {
  parallel_for(
      static_cast<std::int64_t>(tiles.size()), 16, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
          leaves[i] = hash::leaf_hash(tiles[i]);
      });
}

void Cpu::parallel_for(std::int64_t n, std::int64_t grain,
                       const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  LOCKSTEP_ASSERT(grain >= 1, "grain " + std::to_string(grain));
  if (n <= 0) return;
  const std::int64_t grains = (n + grain - 1) / grain;
  const std::int64_t pieces = std::min<std::int64_t>(grains, kPiecesPerThread * threads_);
  if (pieces == 1 || threads_ == 1) {
    check_floating_point_mode();
    body(0, n);
    return;
  }
  LOCKSTEP_ASSERT(!working_.test_and_set(), "a CPU's threads serve one caller at a time");
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(pieces));
  try {
    if (!workers_) workers_ = std::make_unique<Workers>(threads_ - 1);
  } catch (...) {
    working_.clear();
    throw;
  }
  workers_->run(pieces, [&](std::int64_t piece) {
    try {
      check_floating_point_mode();
      body(grains * piece / pieces * grain, std::min(n, grains * (piece + 1) / pieces * grain));
    } catch (...) {
      failures[static_cast<std::size_t>(piece)] = std::current_exception();
    }
  });
  working_.clear();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace lockstep::numerics
