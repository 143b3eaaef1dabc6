// Private: few bytes on their way to the host, in the order of a stream: what copies-inl.h and
// update-inl.h want of a Gpu.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "lockstep/core/bytes.h"
#include "numerics/cuda/pieces.h"
#include "numerics/cuda/staging.cuh"

namespace lockstep::numerics::cuda {

// Where bytes land: pinned memory, and the event behind the copies to it.
struct Landing {
  Landing(int number, std::size_t bytes) : memory(bytes), done(number, Event::Waits::kSpinning) {}
  Pinned memory;
  Event done;
};

// Those that nothing is on its way to. The driver is slow to give pinned memory.
class Landings {
 public:
  std::unique_ptr<Landing> take(int number, std::size_t bytes) {
    {
      const std::scoped_lock lock(mutex_);
      auto best = free_.end();
      for (auto at = free_.begin(); at != free_.end(); ++at) {
        if ((*at)->memory.bytes() < bytes) continue;
        if (best == free_.end() || (*at)->memory.bytes() < (*best)->memory.bytes()) best = at;
      }
      if (best != free_.end()) {
        auto one = std::move(*best);
        free_.erase(best);
        return one;
      }
    }
    std::size_t whole = kLeast;
    while (whole < bytes) whole *= 2;
    return std::make_unique<Landing>(number, whole);
  }
  void give_back(std::unique_ptr<Landing> one) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(one));
  }

 private:
  static constexpr std::size_t kLeast = std::size_t{16} << 10;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Landing>> free_;
};

class Arrival {
 public:
  Arrival(std::shared_ptr<Landings> all, int number, std::span<const ByteView> pieces,
          cudaStream_t stream)
      : all_(std::move(all)), landing_(all_->take(number, joined_size(pieces))) {
    char* to = landing_->memory.data();
    for (const ByteView piece : pieces) {
      if (piece.empty()) continue;
      must(cudaMemcpyAsync(to, piece.data(), piece.size(), cudaMemcpyDeviceToHost, stream),
           "a copy");
      to += piece.size();
    }
    landing_->done.record(stream);
  }
  // What lands there next comes behind it: it is the same stream.
  ~Arrival() { all_->give_back(std::move(landing_)); }
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;

  const std::byte* wait() {
    landing_->done.wait();
    return reinterpret_cast<const std::byte*>(landing_->memory.data());
  }

 private:
  const std::shared_ptr<Landings> all_;
  std::unique_ptr<Landing> landing_;
};

}  // namespace lockstep::numerics::cuda
