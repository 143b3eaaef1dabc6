// Private: through what messages of the host's memory pass: memory of the GPU, and as much of the
// host's, pinned, which the GPU copies to and from by itself, as fast as it can.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "comm/nccl/machine.h"

namespace lockstep::comm {

class Staging {
 public:
  // So many bytes each, once: cudaMalloc and cudaMallocHost wait for the whole GPU.
  void reserve(std::size_t bytes) {
    check(cudaMalloc(&on_gpu_, bytes), "cudaMalloc");
    void* pinned = nullptr;
    check(cudaMallocHost(&pinned, bytes), "cudaMallocHost");
    pinned_ = static_cast<std::byte*>(pinned);
  }
  // Not by the destructor: a GPU that hangs would keep it.
  void release() {
    cudaFree(std::exchange(on_gpu_, nullptr));
    cudaFreeHost(std::exchange(pinned_, nullptr));
  }

  std::byte* on_gpu() const { return on_gpu_; }
  std::byte* pinned() const { return pinned_; }

 private:
  std::byte *on_gpu_ = nullptr, *pinned_ = nullptr;
};

}  // namespace lockstep::comm
