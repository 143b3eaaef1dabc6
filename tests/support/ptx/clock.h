// How long a warp waits for itself, in clocks of a GPU: the way from a block's first instruction to
// its last, if nothing else runs. A lower bound for kernels of few blocks, or of few threads.
//
// A model: between two branches the compiler orders instructions as it likes, so each is issued as
// soon as its operands are there; none goes before the branch that leads to it. Each instruction
// takes the time that NVIDIA's GPUs since sm_80 take (microbenchmarks: arXiv 2208.11174,
// 2402.13499, rounded), a load from global memory that of a GPU's second cache and memory, about
// half each.
#pragma once

#include <cstdint>
#include <vector>

#include "support/ptx/program.h"

namespace lockstep::test::ptx {

class Clock {
 public:
  explicit Clock(const Function& kernel);

  void begin();
  void issue(const Instruction& instruction);
  // All warps of a block meet.
  std::uint64_t now() const { return latest_; }
  void go_on_at(std::uint64_t clock);
  // Another function's registers.
  void enter(const Function& function);
  void leave();

 private:
  std::uint64_t when_ready(const Instruction& instruction) const;

  std::vector<std::vector<std::uint64_t>> ready_;  // of each function's registers
  std::uint64_t floor_ = 0;                        // the last branch
  std::uint64_t latest_ = 0;                       // the last that was issued
  std::uint64_t issued_ = 0;                       // since the last branch
  std::uint64_t copied_ = 0;
  std::vector<std::uint64_t> groups_;  // of asynchronous copies: when they are there
};

}  // namespace lockstep::test::ptx
