// Private: pinned memory, through which copies between the host and a GPU go: the GPU reads and
// writes it by itself, and as fast as the way between them allows.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "numerics/cuda/copy_stream.cuh"
#include "numerics/cuda/must.cuh"

namespace lockstep::numerics::cuda {

// Memory of the host that a GPU reads while the host goes on.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes) : bytes_(bytes) {
    must(cudaMallocHost(&memory_, bytes), "memory for copies");
  }
  ~Pinned() { free_pinned(memory_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  char* data() const { return static_cast<char*>(memory_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_;
};

// Copies of one stream. Of large ones the host copies a piece while the GPU moves another.
class Staging {
 public:
  explicit Staging(int number)
      : halves_{{Event(number, Event::Waits::kSpinning), Event(number, Event::Waits::kSpinning)}} {}

  // Returns when the bytes are on their way.
  void send(std::size_t bytes, const void* from, void* to, cudaStream_t stream) {
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      const std::size_t some = std::min(kPiece, bytes - at);
      const void* const kept = keep(some, static_cast<const char*>(from) + at, stream);
      must(cudaMemcpyAsync(static_cast<char*>(to) + at, kept, some, cudaMemcpyHostToDevice, stream),
           "a copy");
    }
  }

  // Returns when they are there, and all of the stream's work before is done.
  void bring(std::size_t bytes, const void* from, void* to, cudaStream_t stream) {
    std::size_t asked = 0;
    const auto ask = [&](std::size_t half) {
      const std::size_t some = std::min(kHalf, bytes - asked);
      if (some == 0) return;
      // What was sent from there is behind: it is the same stream.
      must(cudaMemcpyAsync(memory_.data() + half * kHalf, static_cast<const char*>(from) + asked,
                           some, cudaMemcpyDeviceToHost, stream),
           "a copy");
      halves_[half].record(stream);
      asked += some;
    };
    ask(0);
    ask(1);
    for (std::size_t at = 0, half = 0; at < bytes; at += kHalf, half = 1 - half) {
      halves_[half].wait();
      std::memcpy(static_cast<char*>(to) + at, memory_.data() + half * kHalf,
                  std::min(kHalf, bytes - at));
      ask(half);
    }
    used_ = 0;
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{4} << 20;
  static constexpr std::size_t kHalf = kBytes / 2, kPiece = kBytes / 4;

  // A copy of these bytes that stays until work which is launched now is done. While one half
  // fills, the GPU reads the other.
  const void* keep(std::size_t bytes, const void* from, cudaStream_t stream) {
    if (used_ + bytes > kHalf) {
      halves_[filling_].record(stream);
      filling_ = 1 - filling_;
      halves_[filling_].wait();
      used_ = 0;
    }
    void* const at = memory_.data() + filling_ * kHalf + used_;
    std::memcpy(at, from, bytes);
    used_ += (bytes + 255) / 256 * 256;
    return at;
  }

  Pinned memory_{kBytes};
  std::size_t filling_ = 0, used_ = 0;  // a half; its bytes
  std::array<Event, 2> halves_;         // what was sent from there, or brought there
};

// Those of a stream that no Gpu has now. The driver is slow to give pinned memory, and waits for
// all work to take it back, while a step opens Gpus anew. What one still copies stays: it goes on
// behind.
class Stagings {
 public:
  std::unique_ptr<Staging> take(int number) {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return std::make_unique<Staging>(number);
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
