// The GPU of this machine in place of the emulated one (support/gpu/gpu.h). A kernel is done when
// its launch returns. Without a GPU a program ends with 4.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#include "gpu_programs/pinned.h"
#include "lockstep/numerics/cuda.h"
#include "support/gpu/gpu.h"
#include "support/gpu/reachable.h"

namespace lockstep::test::gpu {

const char* find_gpu() {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) return cudaGetErrorString(code);
  return count == 0 ? "there is none" : nullptr;
}

void* pinned_pages(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{8} << 30;
  static std::size_t all = 0;
  void* pages = nullptr;
  if ((all += bytes) > kMost ||
      cudaHostAlloc(&pages, bytes, cudaHostAllocPortable | cudaHostAllocMapped) != cudaSuccess)
    return nullptr;
  return pages;
}

Reachable::Reachable(void* pages, std::size_t bytes) : pages_(bytes == 0 ? nullptr : pages) {
  if (pages_ == nullptr) return;
  const cudaError_t code =
      cudaHostRegister(pages_, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "the GPU does not reach a test's pages: %s\n", cudaGetErrorString(code));
  std::abort();
}
Reachable::~Reachable() {
  if (pages_ != nullptr) cudaHostUnregister(pages_);
}

std::unique_ptr<numerics::Device> make_gpu(std::uint64_t) {
  static const auto& gpu = *new numerics::Gpu(numerics::open_gpu(0, 1));
  return gpu.kernels->another();
}

}  // namespace lockstep::test::gpu
