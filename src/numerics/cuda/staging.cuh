// Private: pinned memory, through which small copies to a GPU go.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "numerics/cuda/must.cuh"

namespace lockstep::numerics::cuda {

// Memory of the host that a copy to the GPU may read while the host goes on.
class Staging {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;

  Staging() { must(cudaMallocHost(&memory_, kBytes), "memory for copies"); }
  ~Staging() { cudaFreeHost(memory_); }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // A copy of these bytes, at most kBytes, that stays until work which is launched now is done.
  const void* keep(std::size_t bytes, const void* from, cudaStream_t stream) {
    if (used_ + bytes > kBytes) {
      must(cudaStreamSynchronize(stream), "the work before a copy");
      used_ = 0;
    }
    void* const at = static_cast<char*>(memory_) + used_;
    std::memcpy(at, from, bytes);
    used_ += (bytes + 255) / 256 * 256;
    return at;
  }

 private:
  void* memory_ = nullptr;
  std::size_t used_ = 0;
};

// Those of the process that no Gpu has now. The driver is slow to give pinned memory, and waits for
// all work to take it back, while a step opens Gpus anew. What one still copies stays: it goes on
// behind.
class Stagings {
 public:
  static std::unique_ptr<Staging> take() {
    const std::scoped_lock lock(all().mutex_);
    if (all().free_.empty()) return std::make_unique<Staging>();
    auto one = std::move(all().free_.back());
    all().free_.pop_back();
    return one;
  }
  static void give_back(std::unique_ptr<Staging> one) {
    const std::scoped_lock lock(all().mutex_);
    all().free_.push_back(std::move(one));
  }

 private:
  static Stagings& all() {
    static auto& stagings = *new Stagings;  // for good: the driver may end before static objects
    return stagings;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Staging>> free_;
};

}  // namespace lockstep::numerics::cuda
