// Private: pinned memory, through which small copies to a GPU go.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "numerics/cuda/must.cuh"

namespace lockstep::numerics::cuda {

// Memory of the host that a GPU reads while the host goes on.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes) : bytes_(bytes) {
    must(cudaMallocHost(&memory_, bytes), "memory for copies");
  }
  ~Pinned() { cudaFreeHost(memory_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  char* data() const { return static_cast<char*>(memory_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_;
};

// Small copies to the GPU, on their way.
class Staging {
 public:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;

  // A copy of these bytes, at most kBytes, that stays until work which is launched now is done.
  const void* keep(std::size_t bytes, const void* from, cudaStream_t stream) {
    if (used_ + bytes > kBytes) {
      must(cudaStreamSynchronize(stream), "the work before a copy");
      used_ = 0;
    }
    void* const at = memory_.data() + used_;
    std::memcpy(at, from, bytes);
    used_ += (bytes + 255) / 256 * 256;
    return at;
  }

 private:
  Pinned memory_{kBytes};
  std::size_t used_ = 0;
};

// Those of a stream that no Gpu has now. The driver is slow to give pinned memory, and waits for
// all work to take it back, while a step opens Gpus anew. What one still copies stays: it goes on
// behind.
class Stagings {
 public:
  std::unique_ptr<Staging> take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return std::make_unique<Staging>();
    auto one = std::move(free_.back());
    free_.pop_back();
    return one;
  }
  void give_back(std::unique_ptr<Staging> one) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(one));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Staging>> free_;
};

}  // namespace lockstep::numerics::cuda
