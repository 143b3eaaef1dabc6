#include "support/gpu/gpu.h"

#include <cstring>
#include <new>
#include <span>

#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "numerics/cuda/kernels-inl.h"
#include "numerics/cuda/memory-inl.h"
#include "support/gpu/far_gpu.h"

namespace lockstep::test::gpu {
namespace {

// What device.h asks of a GPU, at once and in the host's memory.
class NearGpu {
 public:
  NearGpu(std::uint64_t seed, int multiprocessors, std::int64_t most_shared)
      : orders_(seed, multiprocessors, most_shared) {}

  static std::string name() { return "an emulated GPU"; }
  static std::string uuid() { return {}; }
  std::unique_ptr<NearGpu> clone() {
    return std::make_unique<NearGpu>(orders_.next(), multiprocessors(), most_shared());
  }

  int multiprocessors() const { return orders_.multiprocessors(); }
  std::int64_t most_shared() const { return orders_.most_shared(); }

  template <class Kernel>
  void launch(const numerics::cuda::Grid& grid, const Kernel& kernel) {
    run_bounded(grid, kernel, orders_.next(), most_shared());
  }

  // Full of NaNs: what nobody wrote is seen.
  void* take(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    void* const memory = ::operator new(bytes);
    std::memset(memory, 0xff, bytes);
    return memory;
  }
  void give_back(void* memory) { ::operator delete(memory); }

  using Arrival = numerics::cuda::Landed;
  static std::unique_ptr<Arrival> begin_to_host(std::span<const ByteView> pieces) {
    auto arrival = std::make_unique<Arrival>();
    for (const ByteView piece : pieces)
      arrival->there.insert(arrival->there.end(), piece.begin(), piece.end());
    return arrival;
  }
  void to_host(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }
  void from_host(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }
  void copy(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }

 private:
  Orders orders_;
};

}  // namespace

std::unique_ptr<numerics::Device> make_gpu(std::uint64_t seed, std::optional<int> multiprocessors) {
  return std::make_unique<numerics::cuda::Device<NearGpu>>(std::make_unique<NearGpu>(
      seed, multiprocessors.value_or(few(seed)), shared_of(seed, multiprocessors)));
}

bool others_take_memory() {
  return false;
}

numerics::Gpu open_gpu(std::uint64_t seed, std::optional<int> multiprocessors) {
  using namespace numerics::cuda;
  const auto context = std::make_shared<FarStreamContext>(std::make_shared<Machine>(seed), false);
  const auto gpu = [&](std::uint64_t own) {
    return std::make_unique<FarGpu>(own, multiprocessors.value_or(few(own)),
                                    shared_of(seed, multiprocessors), context);
  };
  return {std::make_unique<Device<FarGpu>>(gpu(seed)),
          std::make_shared<Memory<FarGpu>>(gpu(seed + 1))};
}

}  // namespace lockstep::test::gpu
