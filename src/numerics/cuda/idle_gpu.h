// Private: a GPU, as device.h wants it, that computes nothing, and says what memory its kernels
// would take for themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "lockstep/core/bytes.h"
#include "numerics/cuda/pieces.h"
#include "numerics/cuda/thread.h"

namespace lockstep::numerics::cuda {

class IdleGpu {
 public:
  using Scratch = std::function<void(std::int64_t bytes)>;

  // As many multiprocessors as the GPU that it stands for, and as much shared memory: they decide
  // how work is cut.
  IdleGpu(int multiprocessors, std::int64_t most_shared, Scratch scratch)
      : multiprocessors_(multiprocessors),
        most_shared_(most_shared),
        scratch_(std::move(scratch)) {}

  static std::string name() { return "idle"; }
  static std::string uuid() { return {}; }
  std::unique_ptr<IdleGpu> clone() const {
    return std::make_unique<IdleGpu>(multiprocessors_, most_shared_, scratch_);
  }
  int multiprocessors() const { return multiprocessors_; }
  std::int64_t most_shared() const { return most_shared_; }

  template <class Kernel>
  void launch(const Grid&, const Kernel&) {}

  // Addresses that nobody follows.
  void* take(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    next_ += kAlignment;
    taken_[next_] = static_cast<std::int64_t>(bytes);
    scratch_(static_cast<std::int64_t>(bytes));
    return reinterpret_cast<void*>(next_);
  }
  void give_back(void* memory) {
    if (memory == nullptr) return;
    const auto at = taken_.find(reinterpret_cast<std::uintptr_t>(memory));
    scratch_(-at->second);
    taken_.erase(at);
  }

  using Arrival = Landed;
  static std::unique_ptr<Arrival> begin_to_host(std::span<const ByteView> pieces) {
    return std::make_unique<Arrival>(Arrival{Bytes(joined_size(pieces))});  // zeros
  }
  void to_host(std::size_t, const void*, void*) {}
  void from_host(std::size_t, const void*, void*) {}
  void copy(std::size_t, const void*, void*) {}

 private:
  static constexpr std::uintptr_t kAlignment = 256;

  int multiprocessors_;
  std::int64_t most_shared_;
  Scratch scratch_;
  std::uintptr_t next_ = 0;
  std::map<std::uintptr_t, std::int64_t> taken_;  // bytes
};

}  // namespace lockstep::numerics::cuda
