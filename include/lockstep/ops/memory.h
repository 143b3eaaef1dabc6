// Memory of tensors: where it comes from, and what would be needed, counted without computing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lockstep/ops/device.h"

namespace lockstep::ops {

// From now on LibTorch's tensors on the CPU are blocks of malloc, aligned to 64 bytes: once, at the
// start of a process. LibTorch itself asks for aligned blocks, which glibc before 2.38 does not
// give out again once they were freed: a step then takes half as much again. Large tensors come
// from a heap that all threads share, if they are to and there are addresses for twice this
// machine's memory. Bits: none.
void take_memory(bool share_large_blocks);

// While it lives, ops of this thread compute nothing (numerics/idle.h), and large tensors share a
// little memory: what is made of them has shape and place, and no values. So a step of a model that
// does not fit can be walked through, to see what it needs.
//
// One a process at a time, while no other thread computes. Error(kEnvironment) where even the
// addresses of one tensor do not fit. Bits: none; nothing that was made inside may be used for
// training.
class Allocations {
 public:
  Allocations();
  ~Allocations();
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  // Bytes of tensors that were made inside and are there; if this thread computed on a GPU, with
  // its kernels' scratch memory.
  std::int64_t live() const;
  std::int64_t peak() const;  // the most that were there at a time, since the last reset
  void reset_peak();

 private:
  class Allocator;
  Allocator* allocator_;  // stays where a tensor outlives this
  std::unique_ptr<numerics::Device> idle_;
  std::optional<DeviceScope> computes_nothing_;
};

// While Allocations count: the threads that would call LibTorch's kernels, which are not called
// either; else 0.
int counted_threads();

// Whether this thread's kernels run on a GPU; of ops that compute nothing, whether they would where
// the Allocations were made. For how much memory an op takes at a time.
bool on_gpu();

}  // namespace lockstep::ops
