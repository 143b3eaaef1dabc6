#include "support/gpu/gpu.h"

#include <cstdlib>
#include <cstring>

#include "lockstep/core/error.h"
#include "numerics/cuda/kernels-inl.h"
#include "support/gpu/grid.h"

namespace lockstep::test::gpu {
namespace {

// What device.h asks of a GPU. Memory is the host's.
class Gpu {
 public:
  explicit Gpu(std::uint64_t seed)
      : seed_(seed), multiprocessors_(1 + static_cast<int>(seed % 4)) {}

  std::unique_ptr<Gpu> another() const { return std::make_unique<Gpu>(seed_ + 1); }

  // Few, so that small products are cut as large ones are; another number for another seed.
  int multiprocessors() const { return multiprocessors_; }

  template <class Kernel>
  void launch(const numerics::cuda::Grid& grid, const Kernel& kernel) {
    LOCKSTEP_ASSERT(grid.threads <= numerics::cuda::Bounds<Kernel>::kBlockThreads,
                    "a block of more threads than its kernel has registers for");
    run(grid, kernel, seed_ = seed_ * 6364136223846793005U + 1442695040888963407U);
  }

  // Full of NaNs: what nobody wrote is seen.
  void* take(std::size_t bytes) {
    void* const memory = std::malloc(bytes + 1);
    std::memset(memory, 0xff, bytes);
    return memory;
  }
  void give_back(void* memory) { std::free(memory); }

  void to_host(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }
  void from_host(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }
  void copy(std::size_t bytes, const void* from, void* to) { move(bytes, from, to); }

 private:
  static void move(std::size_t bytes, const void* from, void* to) {
    if (bytes != 0) std::memmove(to, from, bytes);
  }

  std::uint64_t seed_;
  int multiprocessors_;
};

}  // namespace

std::unique_ptr<numerics::Device> make_gpu(std::uint64_t seed) {
  return std::make_unique<numerics::cuda::Device<Gpu>>(std::make_unique<Gpu>(seed));
}

}  // namespace lockstep::test::gpu
