// Private: what a kernel of this folder is, and what its threads see.
//
// A kernel is an object with `template <class Thread> LOCKSTEP_DEVICE void operator()(Thread& t)
// const`: every thread of a grid calls it. Its members are its arguments. It is plain C++, and all
// that is not (barriers, shared memory, shuffles, asynchronous copies) goes through `t`:
//
//   t.block(), t.thread()       of which block and which of its threads this is
//   t.blocks(), t.threads()     how many there are
//   t.barrier()                 all threads of the block are here, and see each other's writes
//   t.template shared<T>()      the block's shared memory, aligned to 16 bytes
//   t.mma(sums, a, b)           of the warp: int32 sums[16][8] += int8 a[16][32] * b[32][8]; PTX's
//                               mma.m16n8k32 says which lane has which of them
//   t.load_matrices(to, row)    of the warp: four matrices of 8 rows of 16 bytes in shared memory;
//                               `row`, aligned to 16, is row lane % 8 of matrix lane / 8, and
//                               to[m] word lane % 4 of row lane / 4 of matrix m: what mma wants
//   t.load_turned_matrices(..)  the same of matrices of values of 16 bits that lie with rows as
//                               columns: to[m] has rows 2 * (lane % 4) and + 1 of column lane / 4
//   t.template bytes<0x6420>(a, b)  four of a's bytes, 0 to 3, and b's, 4 to 7: the lowest one is
//                               that of the last digit
//   t.shuffle_down(v, d)        v of the warp's lane + d; of itself where there is none
//   t.copy_async(to, from, there)  16 bytes to shared from global memory, both aligned to 16, or if
//                               they are not there 16 bytes of zeros ...
//   t.copy_reread(to, from, there)  the same of what the block reads again soon: it stays in the
//                               multiprocessor's cache ...
//   t.commit()                  ... in a group with those before it
//   t.template wait<N>()        all but the newest N groups of this thread are there
//
// A kernel may bound its registers, so that several blocks fit on a multiprocessor (Bounds).
//
// So the same source runs on a GPU (nvcc) and in a grid that the host emulates
// (tests/support/gpu), which gives threads between barriers any order.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/host_device.h"

#if defined(__CUDACC__)
#define LOCKSTEP_DEVICE __device__
#define LOCKSTEP_UNROLL _Pragma("unroll")
#else
#define LOCKSTEP_DEVICE
#define LOCKSTEP_UNROLL
#endif

namespace lockstep::numerics::cuda {

inline constexpr int kWarp = 32;

// Shared memory that a block may have on every GPU since compute capability 8.0 (CUDA programming
// guide, "Technical Specifications per Compute Capability": 99 KiB), even if the driver counts the
// one that it reserves as the kernel's.
inline constexpr std::int64_t kMostShared = 98 * 1024;

// How a kernel is launched. A launch without blocks does nothing.
struct Grid {
  std::int64_t blocks = 0;
  int threads = 0;                // a block; a multiple of kWarp
  std::int64_t shared_bytes = 0;  // a block
  bool fewer_do = false;          // fewer blocks give the same: a thread takes several items
};

inline constexpr int kThreads = 256;  // where nothing speaks for another number

// The most threads a block that a kernel is launched with, and the blocks a multiprocessor whose
// registers must suffice: a kernel may say both as kBlockThreads and kResidentBlocks.
template <class Kernel>
struct Bounds {
  static constexpr int kBlockThreads = kThreads, kResidentBlocks = 1;
};
template <class Kernel>
requires(Kernel::kResidentBlocks > 0) struct Bounds<Kernel> {
  static constexpr int kBlockThreads = Kernel::kBlockThreads,
                       kResidentBlocks = Kernel::kResidentBlocks;
};

// One thread an item, or fewer; no block for none.
inline Grid grid_of(std::int64_t items, int threads = kThreads) {
  return {(items + threads - 1) / threads, threads, 0, /*fewer_do=*/true};
}

// body(i) for the items of this thread among n; neighbours have neighbouring items.
template <class Thread, class Body>
LOCKSTEP_DEVICE inline void for_each_item(const Thread& t, std::int64_t n, const Body& body) {
  const std::int64_t step = t.blocks() * t.threads();
  for (std::int64_t i = t.block() * t.threads() + t.thread(); i < n; i += step) body(i);
}

// A kernel that computes items one by one: body(i) for each of n.
template <class Body>
struct Each {
  std::int64_t n;
  Body body;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    for_each_item(t, n, body);
  }
};

}  // namespace lockstep::numerics::cuda
