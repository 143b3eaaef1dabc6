// Private: captured work for CUDA (numerics/device.h). A Gpu that captures has this for it; what is
// called of it and its others between the first two is captured:
//
//   gpu.begin_capture(); gpu.end_capture(), the work; or gpu.drop_capture(), wherever it failed
//   gpu.capturing(); gpu.cut_capture(call)   the call of the host comes between, in every launch
//   gpu.from_host_by(bytes, fill, to)   Device's, while it is capturing
//   gpu.moved(by), gpu.moved()          keeps an address of the GPU for all Gpus
#pragma once

#include <cstring>
#include <utility>

#include "numerics/cuda/device.h"

namespace lockstep::numerics::cuda {

template <class Gpu>
concept Captures = requires(Gpu& gpu) {
  gpu.begin_capture();
};

// By how much positions of random numbers are moved.
class Moved {
 public:
  template <class Gpu>
  explicit Moved(const Gpu& gpu) {
    if constexpr (Captures<Gpu>) by_ = gpu.moved();
  }
  LOCKSTEP_DEVICE std::uint64_t operator()(std::uint64_t position) const {
    return by_ == nullptr ? position : position + *by_;
  }

 private:
  const std::uint64_t* by_ = nullptr;
};

template <class Gpu>
void Device<Gpu>::from_host_by(std::size_t bytes, const Fill& fill, void* to) {
  if constexpr (Captures<Gpu>) {
    if (gpu_->capturing()) return gpu_->from_host_by(bytes, fill, to);
  }
  numerics::Device::from_host_by(bytes, fill, to);
}

template <class Gpu>
void Device<Gpu>::outside_graph(const std::function<void()>& call) {
  if constexpr (Captures<Gpu>) {
    if (gpu_->capturing()) return gpu_->cut_capture(call);
  }
  call();
}

template <class Gpu>
std::unique_ptr<Captured> Device<Gpu>::capture(const std::function<void()>& work) {
  if constexpr (Captures<Gpu>) {
    gpu_->begin_capture();
    // What is kept for later calls would be there only when the graph has run: it has its own.
    auto partials = std::exchange(partials_, {});
    auto leaf_keys = std::exchange(leaf_keys_, {});
    const auto end = [&] {
      gpu_->moved(nullptr);
      partials_ = std::move(partials);
      leaf_keys_ = std::move(leaf_keys);
    };
    std::unique_ptr<Captured> captured;
    try {
      const Scratch<Gpu, std::uint64_t> moved(*gpu_, 1);
      const auto tell = [](std::uint64_t by, void* to) { std::memcpy(to, &by, sizeof by); };
      gpu_->from_host_by(sizeof(std::uint64_t), tell, moved.data());
      gpu_->moved(moved.data());
      work();
      captured = gpu_->end_capture();
    } catch (...) {
      end();
      gpu_->drop_capture();
      throw;
    }
    end();
    return captured;
  } else {
    return numerics::Device::capture(work);
  }
}

}  // namespace lockstep::numerics::cuda
