// What a kernel asks of a GPU, counted while it is interpreted: in warps' instructions, as a GPU
// issues them. LOCKSTEP_PTX_PROFILE=FILE writes one JSON object a kernel when the program ends
// (tests/bench/gpu_profile.py reads it). LOCKSTEP_PTX_LAUNCHED=FILE: the same, where only launches
// are counted, which takes no time.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::test::ptx {

struct Counts {
  std::uint64_t launches = 0, blocks = 0, warps = 0;
  std::uint64_t clocks = 0;        // from a block's first instruction to its last (clock.h)
  std::uint64_t longest = 0;       // those of each launch's longest block
  std::uint64_t shared_bytes = 0;  // of blocks
  std::uint64_t instructions = 0, mma = 0, barriers = 0;
  std::uint64_t fma = 0;       // on binary32
  std::uint64_t binary64 = 0;  // arithmetic and conversions
  // Of shared memory: 32 banks of 4 bytes; a wavefront gives each bank's word once. `least`: had
  // there been no conflicts.
  std::uint64_t shared = 0, wavefronts = 0, least = 0;
  // Of global memory: sectors of 32 bytes, and the bytes that were asked for.
  std::uint64_t global = 0, sectors = 0, bytes = 0;

  void add(const Counts& other);
};

// Counts of one access of a warp: each lane of the mask at its address, so many bytes.
void count_shared(Counts& counts, const std::uint32_t* addresses, std::size_t bytes,
                  std::uint32_t mask);
void count_global(Counts& counts, const std::uint64_t* addresses, std::size_t bytes,
                  std::uint32_t mask);

// Whether anybody asked: for what kernels do, or at least for which are launched.
bool profiling();
bool listing();
void keep(const std::string& kernel, const Counts& counts);

}  // namespace lockstep::test::ptx
