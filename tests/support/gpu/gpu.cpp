#include "support/gpu/gpu.h"

#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include "lockstep/core/error.h"
#include "numerics/cuda/kernels-inl.h"
#include "numerics/cuda/memory-inl.h"
#include "support/far_device/memory.h"
#include "support/gpu/grid.h"
#include "support/gpu/stream.h"

namespace lockstep::test::gpu {
namespace {

namespace far = testing::far;

// So few that small products are cut as large ones are; another number for another seed.
int few(std::uint64_t seed) {
  return 1 + static_cast<int>(seed % 4);
}

class Orders {
 public:
  Orders(std::uint64_t seed, int multiprocessors)
      : seed_(seed), multiprocessors_(multiprocessors) {}
  std::uint64_t next() { return seed_ = seed_ * 6364136223846793005U + 1442695040888963407U; }
  int multiprocessors() const { return multiprocessors_; }

 private:
  std::uint64_t seed_;
  int multiprocessors_;
};

// Runs it, if the kernel has registers for so many threads.
template <class Kernel>
void run_bounded(const numerics::cuda::Grid& grid, const Kernel& kernel, std::uint64_t seed) {
  static_assert(std::is_trivially_copyable_v<Kernel>, "a launch copies its bytes");
  static_assert(sizeof(Kernel) <= 4096, "what every launch may ask for");
  LOCKSTEP_ASSERT(grid.threads <= numerics::cuda::Bounds<Kernel>::kBlockThreads,
                  "a block of more threads than its kernel has registers for");
  run(grid, kernel, seed);
}

// What device.h asks of a GPU, at once and in the host's memory.
class NearGpu {
 public:
  explicit NearGpu(std::uint64_t seed) : orders_(seed, few(seed)) {}

  static std::string name() { return "an emulated GPU"; }
  std::unique_ptr<NearGpu> another() { return std::make_unique<NearGpu>(orders_.next()); }

  int multiprocessors() const { return orders_.multiprocessors(); }

  template <class Kernel>
  void launch(const numerics::cuda::Grid& grid, const Kernel& kernel) {
    run_bounded(grid, kernel, orders_.next());
  }

  // Full of NaNs: what nobody wrote is seen.
  void* take(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    void* const memory = ::operator new(bytes);
    std::memset(memory, 0xff, bytes);
    return memory;
  }
  void give_back(void* memory) { ::operator delete(memory); }

  void to_host(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }
  void from_host(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }
  void copy(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }

 private:
  static void move(std::size_t bytes, const void* from, void* to) {
    if (bytes != 0) std::memmove(to, from, bytes);
  }

  Orders orders_;
};

// The same in far memory and in a stream.
class FarGpu {
 public:
  FarGpu(std::uint64_t seed, int multiprocessors, std::shared_ptr<Streams> streams)
      : orders_(seed, multiprocessors), streams_(std::move(streams)) {}

  static std::string name() { return "an emulated GPU, in far memory"; }
  std::unique_ptr<FarGpu> another() {
    return std::make_unique<FarGpu>(orders_.next(), multiprocessors(), streams_);
  }

  int multiprocessors() const { return orders_.multiprocessors(); }

  template <class Kernel>
  void launch(const numerics::cuda::Grid& grid, const Kernel& kernel) {
    if (grid.blocks == 0) return;
    streams_->launch(Streams::kNull,
                     [grid, kernel, seed = orders_.next()] { run_bounded(grid, kernel, seed); });
  }

  void* take(std::size_t bytes) {
    void* const memory = far::take(bytes);
    if (memory == nullptr && bytes > 0) throw std::bad_alloc();
    streams_->put(Streams::kNull, [memory, bytes] { move(bytes, nullptr, memory); });
    return memory;
  }
  void give_back(void* memory) { far::release(memory); }
  std::optional<std::int64_t> left() {
    return static_cast<std::int64_t>(far::kMemoryBytes - far::bytes_in_use());
  }

  // LibTorch's kernels are the host's, and do not wait for the stream.
  static std::string foreign_device() { return "cpu"; }
  void* foreign(void* memory) {
    streams_->wait(Streams::kNull);
    return far::near(memory);
  }

  void to_host(std::size_t bytes, const void* from, void* to) {
    streams_->wait(Streams::kNull);
    move(bytes, far::near(from), to);
  }
  void from_host(std::size_t bytes, const void* from, void* to) {
    const auto* const first = static_cast<const char*>(from);
    streams_->copy(Streams::kNull, [kept = std::vector<char>(first, first + bytes),
                                    to = far::near(to)] { move(kept.size(), kept.data(), to); });
  }
  void copy(std::size_t bytes, const void* from, void* to) {
    streams_->copy(Streams::kNull,
                   [bytes, from = far::near(from), to = far::near(to)] { move(bytes, from, to); });
  }

 private:
  // From nothing: NaNs.
  static void move(std::size_t bytes, const void* from, void* to) {
    if (bytes == 0) return;
    if (from != nullptr) {
      std::memmove(to, from, bytes);
    } else {
      std::memset(to, 0xff, bytes);
    }
  }

  Orders orders_;
  std::shared_ptr<Streams> streams_;
};

}  // namespace

std::unique_ptr<numerics::Device> make_gpu(std::uint64_t seed) {
  return std::make_unique<numerics::cuda::Device<NearGpu>>(std::make_unique<NearGpu>(seed));
}

numerics::Gpu open_gpu(std::uint64_t seed, std::optional<int> multiprocessors) {
  using namespace numerics::cuda;
  const auto streams = std::make_shared<Streams>(seed);
  const auto gpu = [&](std::uint64_t own) {
    return std::make_unique<FarGpu>(own, multiprocessors.value_or(few(own)), streams);
  };
  return {std::make_unique<Device<FarGpu>>(gpu(seed)),
          std::make_shared<Memory<FarGpu>>(gpu(seed + 1))};
}

}  // namespace lockstep::test::gpu
