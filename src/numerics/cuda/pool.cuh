// Private: a GPU's memory, which streams take and give back in their order (CUDA C++ Programming
// Guide, "Stream-Ordered Memory Allocator"). The driver has one pool for all streams of a process.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

#include "numerics/cuda/event.cuh"
#include "numerics/cuda/must.cuh"

namespace lockstep::numerics::cuda {

class Pool {
 public:
  explicit Pool(int number) : number_(make_current(number)), done_(number) {
    must(cudaDeviceGetDefaultMemPool(&pool_, number), "its memory");
    // What was given back is taken again, and the driver not asked.
    std::uint64_t most = UINT64_MAX;
    must(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &most), "its memory");
    // A stream would wait for another one to have what that gave back: one beside the kernels for
    // the whole backward pass.
    int none = 0;
    must(cudaMemPoolSetAttribute(pool_, cudaMemPoolReuseAllowInternalDependencies, &none),
         "its memory");
  }

  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int number() const { return number_; }

  // Streams that take, beside the null stream; any thread.
  void add(cudaStream_t stream) {
    const std::scoped_lock lock(mutex_);
    streams_.insert(stream);
  }
  void remove(cudaStream_t stream) {
    const std::scoped_lock lock(mutex_);
    streams_.erase(stream);
  }

  void when_lacking(std::function<void()> give_back) {
    const std::scoped_lock lock(mutex_);
    others_give_back_ = std::move(give_back);
  }

  // For what comes next in the stream. std::bad_alloc if there is not so much, not even when all
  // streams have done their work and others have given back what they keep.
  void* take(std::size_t bytes, cudaStream_t stream) {
    void* memory = nullptr;
    cudaError_t found = cudaMallocAsync(&memory, bytes, stream);
    // What a stream gave back is another one's, or a part of a larger block, only when the work
    // before it is done (github.com/tensorflow/tensorflow/pull/50699). At last the pool lets go of
    // it, and so do others: what is taken next is slow.
    for (const auto& gather : {&Pool::observe_all, &Pool::trim, &Pool::ask_others}) {
      if (found != cudaErrorMemoryAllocation) break;
      cudaGetLastError();  // forgets it
      (this->*gather)();
      found = cudaMallocAsync(&memory, bytes, stream);
    }
    must(found, "memory");
    return memory;
  }

  // Bytes that are free, or kept by the pool and not in use, when all streams have done their work.
  std::int64_t left() {
    observe_all();
    std::size_t free = 0, all = 0;
    must(cudaMemGetInfo(&free, &all), "its memory");
    std::uint64_t kept = 0, used = 0;
    must(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &kept), "its memory");
    must(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used), "its memory");
    return static_cast<std::int64_t>(free + kept - used);
  }

 private:
  void trim() { must(cudaMemPoolTrimTo(pool_, 0), "its memory"); }
  void ask_others() {
    std::function<void()> give_back;
    {
      const std::scoped_lock lock(mutex_);
      give_back = others_give_back_;
    }
    if (give_back) give_back();
    make_current(number_);  // it may have changed the thread's GPU
  }
  // Until the host has seen that it is done, what was given back counts as in use.
  void observe_all() {
    const std::scoped_lock lock(mutex_);
    for (const cudaStream_t stream : streams_) {
      done_.record(stream);
      done_.wait();
      // It is done: tells the driver that the host knows, which a look may not (cudaMemPoolTrimTo).
      must(cudaStreamSynchronize(stream), "the work before");
    }
  }

  int number_;
  cudaMemPool_t pool_ = nullptr;
  std::mutex mutex_;
  Event done_;  // a GPU whose memory is all taken has none for another
  std::set<cudaStream_t> streams_{nullptr};  // that take
  std::function<void()> others_give_back_;
};

}  // namespace lockstep::numerics::cuda
