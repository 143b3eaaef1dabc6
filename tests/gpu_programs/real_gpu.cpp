// The GPU of this machine in place of the emulated one (support/gpu/gpu.h). A kernel is done when
// its launch returns, unless CUDA_LAUNCH_BLOCKING=0 is given, for tests that read nothing of the
// host's. Without a GPU a program ends with 4.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "gpu_programs/calls.h"
#include "gpu_programs/pinned.h"
#include "lockstep/numerics/cuda.h"
#include "support/gpu/gpu.h"
#include "support/gpu/reachable.h"

namespace lockstep::test::gpu {
namespace {

constexpr double kPatience = 600;  // seconds
int calls = 0;                     // for a GPU
constexpr unsigned kMapped = cudaHostRegisterPortable | cudaHostRegisterMapped;

}  // namespace

const char* find_gpu() {
  setenv("CUDA_LAUNCH_BLOCKING", "1", /*overwrite=*/0);
  int count = 0, reached = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess) return cudaGetErrorString(code);
  if (count == 0) return "there is none";
  if (cudaDeviceGetAttribute(&reached, cudaDevAttrCanUseHostPointerForRegisteredMem, 0) !=
          cudaSuccess ||
      reached == 0)
    return "it has other addresses for the host's memory";
  return nullptr;
}

// Ordinary memory, registered: cudaHostAlloc's may be a mapping of the driver's, in which the
// kernel refuses to wait for the thread whose stack it is.
void* pinned_pages(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{8} << 30;
  static std::size_t all = 0;
  if ((all += bytes) > kMost) return nullptr;
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  const cudaError_t code = cudaHostRegister(pages, bytes, kMapped);
  if (code == cudaSuccess) return pages;
  if (code == cudaErrorMemoryAllocation || code == cudaErrorNotSupported) return nullptr;
  // A kernel before failed, and every call tells it from then on.
  std::fprintf(stderr, "CUDA: pinned memory: %s\n", cudaGetErrorString(code));
  std::_Exit(1);
}

Reachable::Reachable(void* pages, std::size_t bytes) : pages_(bytes == 0 ? nullptr : pages) {
  if (pages_ == nullptr) return;
  const cudaError_t code = cudaHostRegister(pages_, bytes, kMapped);
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "the GPU does not reach a test's pages: %s\n", cudaGetErrorString(code));
  std::abort();
}
Reachable::~Reachable() {
  if (pages_ != nullptr) cudaHostUnregister(pages_);
}

// A GPU would cut products of a test's size in its smallest tiles: half of the seeds have few
// multiprocessors, as on the emulated one.
std::unique_ptr<numerics::Device> make_gpu(std::uint64_t seed, std::optional<int> multiprocessors) {
  ++calls;
  static std::map<int, const numerics::Gpu*> opened;  // never closed: the driver ends first
  const int cut_for = multiprocessors.value_or(seed % 2 == 0 ? few(seed) : 0);
  const numerics::Gpu*& gpu = opened[cut_for];
  if (gpu == nullptr) gpu = new numerics::Gpu(numerics::open_gpu(0, 1, kPatience, cut_for));
  return gpu->kernels->clone();
}

int calls_for_gpu() {
  return calls;
}

bool others_take_memory() {
  return reach_only == nullptr;  // else it is interpreted
}

numerics::Gpu open_gpu(std::uint64_t, std::optional<int> multiprocessors) {
  ++calls;
  return numerics::open_gpu(0, 1, kPatience, multiprocessors.value_or(0));
}

}  // namespace lockstep::test::gpu
