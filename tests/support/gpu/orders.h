// Private: how kernels of an emulated GPU run: the orders of their blocks and threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <type_traits>

#include "lockstep/core/error.h"
#include "support/gpu/gpu.h"
#include "support/gpu/grid.h"

namespace lockstep::test::gpu {

// A block's shared memory: an H100's, or what every GPU has.
inline std::int64_t shared_of(std::uint64_t seed, std::optional<int> multiprocessors) {
  return multiprocessors || seed % 3 == 0 ? kMostSharedOfAny : numerics::cuda::kMostShared;
}

class Orders {
 public:
  Orders(std::uint64_t seed, int multiprocessors, std::int64_t most_shared)
      : seed_(seed), multiprocessors_(multiprocessors), most_shared_(most_shared) {}
  // Ranks in threads of a process may launch at once.
  std::uint64_t next() { return std::mt19937_64(seed_++)(); }
  int multiprocessors() const { return multiprocessors_; }
  std::int64_t most_shared() const { return most_shared_; }

 private:
  std::atomic<std::uint64_t> seed_;
  int multiprocessors_;
  std::int64_t most_shared_;
};

// Runs it, if the kernel has registers for so many threads; where fewer blocks do, with few.
template <class Kernel>
void run_bounded(const numerics::cuda::Grid& grid, const Kernel& kernel, std::uint64_t seed,
                 std::int64_t most_shared) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a launch copies its bytes");
  static_assert(sizeof(Kernel) <= 4096, "what every launch may ask for");
  LOCKSTEP_ASSERT(grid.threads <= numerics::cuda::Bounds<Kernel>::kBlockThreads,
                  "a block of more threads than its kernel has registers for");
  LOCKSTEP_ASSERT(grid.shared_bytes <= most_shared, "more shared memory than this GPU has");
  numerics::cuda::Grid launched = grid;
  if (grid.fewer_do) launched.blocks = std::min<std::int64_t>(grid.blocks, few(seed));
  run(launched, kernel, seed);
}

}  // namespace lockstep::test::gpu
