// The plug-in liblockstep_cuda.so, loaded when a GPU is asked for (plugin.h).
#include <cuda_runtime_api.h>

#include "lockstep/core/plugin.h"
#include "numerics/cuda/gpu.cuh"
#include "numerics/cuda/kernels-inl.h"
#include "numerics/cuda/memory-inl.h"
#include "numerics/cuda/plugin.h"

namespace {

using namespace lockstep;
using numerics::cuda::Gpu;
using numerics::cuda::must;

constexpr int kOldest = 8;  // compute capability: cp.async, and mma of bytes

// Who else would see an exception does not know this library's.
template <class Body>
void guarded(std::string& problem, const Body& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    problem = "no memory is left";
  } catch (const std::exception& error) {
    problem = error.what();
  }
}

std::string text_of(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int count_of_driver() {
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaErrorNoDevice) return 0;
  if (code == cudaErrorInsufficientDriver) {
    int version = 0;
    const bool there = cudaDriverGetVersion(&version) == cudaSuccess && version != 0;
    throw Error(Code::kEnvironment, there ? "the driver knows CUDA up to " + text_of(version) +
                                                ", and " + text_of(CUDART_VERSION) + " is needed"
                                          : "there is no NVIDIA driver here");
  }
  must(code, "the driver");
  return count;
}

void require(int number) {
  const int count = count_of_driver();
  if (number >= count)
    throw Error(Code::kEnvironment, count == 0 ? "the driver shows no GPU"
                                               : "the driver shows " + std::to_string(count) +
                                                     " of them, numbered from 0");
  int major = 0, minor = 0;
  must(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number), "its age");
  must(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, number), "its age");
  if (major < kOldest)
    throw Error(Code::kEnvironment, "its compute capability is " + std::to_string(major) + "." +
                                        std::to_string(minor) + ", and 8.0 is needed");
  int pools = 0;
  must(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, number), "its memory");
  if (pools == 0)
    throw Error(Code::kEnvironment, "it has no memory pools (cudaMallocAsync), as some vGPUs");
}

}  // namespace

LOCKSTEP_PLUGIN(cuda)

LOCKSTEP_EXPORTED void lockstep_cuda_count(int& count, std::string& problem) {
  guarded(problem, [&] { count = count_of_driver(); });
}

LOCKSTEP_EXPORTED void lockstep_cuda_needs(int number, std::string& problem) {
  guarded(problem, [&] { require(number); });
}

LOCKSTEP_EXPORTED void lockstep_cuda_uuid(int number, std::string& uuid, std::string& problem) {
  guarded(problem, [&] {
    require(number);
    uuid = numerics::cuda::uuid_of(number);
  });
}

LOCKSTEP_EXPORTED void lockstep_cuda_open(int number, int threads, double patience, int cut_for,
                                          numerics::Gpu& opened, std::string& problem) {
  guarded(problem, [&] {
    numerics::cuda::Patience::seconds = patience;
    require(number);
    auto gpu = std::make_unique<Gpu>(number, cut_for);
    gpu->load();
    opened.memory = std::make_shared<numerics::cuda::Memory<Gpu>>(gpu->clone());
    opened.kernels = std::make_unique<numerics::cuda::Device<Gpu>>(std::move(gpu), threads);
  });
}
