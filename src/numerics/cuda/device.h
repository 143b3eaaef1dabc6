// Private: the kernels of the specification for CUDA, on a Gpu: NVIDIA's (gpu.cuh) or one that the
// host emulates (tests/support/gpu). A Gpu has this for it, and what capture-inl.h says:
//
//   gpu.launch(grid, kernel)         kernel.operator() in every thread (thread.h), in their order
//   gpu.take(bytes), give_back(p)    scratch memory, of what is launched between the two
//   gpu.to_host(bytes, from, to), from_host, copy    return when the host's memory is the caller's
//   gpu.multiprocessors()            how many blocks of many threads run side by side
//   gpu.most_shared()                bytes of a block's shared memory, kMostShared at least
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "lockstep/numerics/cpu.h"
#include "numerics/cuda/scratch.h"
#include "numerics/cuda/thread.h"

namespace lockstep::numerics::cuda {

struct DeviceLeafKeys;  // leaf-inl.h
struct LanesOfPartial;  // sums-inl.h

template <class Gpu>
class Device final : public numerics::Device {
 public:
  explicit Device(std::unique_ptr<Gpu> gpu, int threads = 1)
      : gpu_(std::move(gpu)), host_(threads) {}

  std::string name() override { return gpu_->name(); }
  std::string uuid() override { return gpu_->uuid(); }
  Cpu& host() override { return host_; }
  std::unique_ptr<numerics::Device> clone(int threads) const override {
    return std::make_unique<Device>(gpu_->clone(), threads);
  }
  std::unique_ptr<numerics::Event> record_event() override;
  void to_host(std::size_t bytes, const void* from, void* to) override {
    gpu_->to_host(bytes, from, to);
  }
  void from_host(std::size_t bytes, const void* from, void* to) override {
    gpu_->from_host(bytes, from, to);
  }
  void copy(std::size_t bytes, const void* from, void* to) override { gpu_->copy(bytes, from, to); }
  void from_host_by(std::size_t bytes, const Fill& fill, void* to) override;
  std::unique_ptr<Captured> capture(const std::function<void()>& work) override;
  void outside_graph(const std::function<void()>& call) override;
  void leaf_hashes(std::span<const ByteView> tiles, hash::Leaf* leaves) override;
  std::size_t first_non_finite(std::span<const std::span<const float>> tensors) override;
  void parallel_for(
      std::int64_t n, std::int64_t /*grain*/,
      const std::function<void(std::int64_t begin, std::int64_t end)>& body) override {
    if (n > 0) body(0, n);  // in one thread: there is one stream
  }

#include "lockstep/numerics/device_kernels-inl.h"

 private:
  template <class Body>
  void each(std::int64_t n, const Body& body) {
    gpu_->launch(grid_of(n), Each<Body>{n, body});
  }

  DeviceLeafKeys leaf_keys();  // uploaded when they are first needed
  const LanesOfPartial* partials_of(const LaneBlocks& lanes);
  template <class Value, class Second>
  void tree_over_lanes(const LaneBlocks& lanes, std::int64_t width, const Value& value, float* out,
                       const Second& second, float* more);
  template <class Value>
  void tree_over_lanes(const LaneBlocks& lanes, std::int64_t width, const Value& value, float* out);

  std::unique_ptr<Gpu> gpu_;
  Cpu host_;
  std::unique_ptr<Upload<Gpu, std::uint32_t>> leaf_keys_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<Upload<Gpu, LanesOfPartial>>>
      partials_;  // by the lanes of each
};

}  // namespace lockstep::numerics::cuda
