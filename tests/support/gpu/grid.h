// A GPU that the host emulates, to prove CUDA kernels (src/numerics/cuda) without one: blocks one
// after another, in any order; a block's threads as fibers on one thread of the host.
//
// It is unkind wherever CUDA promises nothing, so that a mistake shows:
// - between barriers threads run in a random order, each until its next barrier; warps whose lanes
//   wait for each other go on side by side, or one of them after another;
// - shared memory is full of NaNs when a block begins;
// - what copy_async writes is NaN until the wait that it must be there for, and is read that late;
//   it ends the program where it is not aligned, or not in shared memory, or where its thread ends
//   without that wait: the memory may be another block's by then;
// - matrices that a warp loads are read when all of its lanes are there; it ends the program where
//   a row is not aligned, or not in shared memory;
// - shared memory ends at a page that nobody may touch. (Global memory: the same tests in PTX's
//   interpreter, ptx/memory.h, and on the grid with the address sanitizer.)
// A barrier that not all threads reach ends the program and says so, and so does a shuffle, a load
// or a product of matrices that not all threads of the warp reach, and a launch that no GPU takes
// (kMostSharedOfAny).
#pragma once

#include <cstdint>
#include <vector>

#include "numerics/cuda/thread.h"

namespace lockstep::test::gpu {

// Bytes of a block on GPUs of compute capability 9.0 and 10.0.
inline constexpr std::int64_t kMostSharedOfAny = 227 * 1024;

class Block;

// What a kernel sees (numerics/cuda/thread.h).
class Thread {
 public:
  Thread(Block& block, int number) : block_(block), number_(number) {}

  std::int64_t block() const;
  std::int64_t blocks() const;
  int thread() const { return number_; }
  int threads() const;

  void barrier();
  template <class T>
  T* shared() {
    return static_cast<T*>(shared_memory());
  }
  void mma(std::int32_t (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
  void load_matrices(std::uint32_t (&to)[4], const void* row) { load(to, row, false); }
  void load_turned_matrices(std::uint32_t (&to)[4], const void* row) { load(to, row, true); }
  template <int kWhich>
  std::uint32_t bytes(std::uint32_t a, std::uint32_t b) {
    const std::uint64_t all = std::uint64_t{b} << 32 | a;
    std::uint32_t found = 0;
    for (int i = 0; i < 4; ++i)
      found |= static_cast<std::uint32_t>(all >> (kWhich >> i * 4 & 7) * 8 & 0xffU) << i * 8;
    return found;
  }
  template <class T>
  T shuffle_down(T value, int lanes) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = shuffled_down(bits, lanes);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
  }

  void copy_async(void* to, const void* from, bool there);
  void copy_reread(void* to, const void* from, bool there) { copy_async(to, from, there); }
  void commit();
  template <int kNewest>
  void wait() {
    wait_for_all_but(kNewest);
  }
  // Ends the program if copies are still under way.
  void end() const;

 private:
  void* shared_memory();
  bool in_shared_memory(const void* sixteen_bytes) const;
  void load(std::uint32_t (&to)[4], const void* row, bool turned);
  std::uint64_t shuffled_down(std::uint64_t bits, int lanes);
  void wait_for_all_but(int newest);

  struct Copy {
    void* to;
    const void* from;  // null: zeros
    int group;
  };

  Block& block_;
  int number_;
  int group_ = 0;  // that the next copies belong to
  std::vector<Copy> copies_;
};

// What a thread runs: the kernel, without its type.
using Body = void (*)(const void* kernel, Thread& thread);

// Runs all threads of a grid. `seed` gives the orders.
void run(const numerics::cuda::Grid& grid, const void* kernel, Body body, std::uint64_t seed);

template <class Kernel>
void run(const numerics::cuda::Grid& grid, const Kernel& kernel, std::uint64_t seed) {
  run(
      grid, &kernel,
      [](const void* erased, Thread& thread) { (*static_cast<const Kernel*>(erased))(thread); },
      seed);
}

}  // namespace lockstep::test::gpu
