// Private: one of NVIDIA's GPUs, as device.h wants it: a stream of CUDA's runtime.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "lockstep/core/error.h"
#include "numerics/cuda/thread.h"

namespace lockstep::numerics::cuda {

// A thread of a kernel (thread.h).
class GpuThread {
 public:
  LOCKSTEP_DEVICE std::int64_t block() const { return blockIdx.x; }
  LOCKSTEP_DEVICE std::int64_t blocks() const { return gridDim.x; }
  LOCKSTEP_DEVICE int thread() const { return static_cast<int>(threadIdx.x); }
  LOCKSTEP_DEVICE int threads() const { return static_cast<int>(blockDim.x); }
  LOCKSTEP_DEVICE void barrier() { __syncthreads(); }
  template <class T>
  LOCKSTEP_DEVICE T* shared() {
    extern __shared__ __align__(16) unsigned char memory[];
    return reinterpret_cast<T*>(memory);
  }
  LOCKSTEP_DEVICE void mma(std::int32_t (&sums)[4], const std::uint32_t (&a)[4],
                           const std::uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  template <class T>
  LOCKSTEP_DEVICE T shuffle_down(T value, int lanes) {
    return __shfl_down_sync(0xffffffffU, value, static_cast<unsigned>(lanes));
  }
};

template <class Kernel>
__global__ void run(const Kernel kernel) {
  GpuThread thread;
  kernel(thread);
}

inline void must(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  throw Error(Code::kEnvironment, std::string("CUDA: ") + what + ": " + cudaGetErrorString(code));
}

class Gpu {
 public:
  explicit Gpu(int number) : number_(number) { must(cudaSetDevice(number), "no such GPU"); }

  std::unique_ptr<Gpu> another() const { return std::make_unique<Gpu>(number_); }

  template <class Kernel>
  void launch(const Grid& grid, const Kernel& kernel) {
    if (grid.blocks == 0) return;
    run<<<static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.threads),
          static_cast<std::size_t>(grid.shared_bytes), stream_>>>(kernel);
    must(cudaGetLastError(), "a kernel was not launched");
  }

  void* take(std::size_t bytes) {
    void* memory = nullptr;
    if (bytes != 0) must(cudaMallocAsync(&memory, bytes, stream_), "no scratch memory");
    return memory;
  }
  void give_back(void* memory) {
    if (memory != nullptr) cudaFreeAsync(memory, stream_);
  }

  void to_host(std::size_t bytes, const void* from, void* to) {
    move(bytes, from, to, cudaMemcpyDeviceToHost);
  }
  void from_host(std::size_t bytes, const void* from, void* to) {
    move(bytes, from, to, cudaMemcpyHostToDevice);
  }
  void copy(std::size_t bytes, const void* from, void* to) {
    move(bytes, from, to, cudaMemcpyDeviceToDevice);
  }

 private:
  void move(std::size_t bytes, const void* from, void* to, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    must(cudaMemcpyAsync(to, from, bytes, kind, stream_), "a copy");
    must(cudaStreamSynchronize(stream_), "the work before a copy");
  }

  int number_;
  cudaStream_t stream_ = nullptr;  // that LibTorch uses, too
};

}  // namespace lockstep::numerics::cuda
