// The plug-in liblockstep_cuda.so, loaded when a GPU is asked for (plugin.h).
#include <cuda_runtime_api.h>

#include <cstdlib>

#include "lockstep/core/plugin.h"
#include "numerics/cuda/gpu.cuh"
#include "numerics/cuda/kernels-inl.h"
#include "numerics/cuda/memory-inl.h"
#include "numerics/cuda/plugin.h"

namespace {

using namespace lockstep;
using numerics::cuda::Gpu;
using numerics::cuda::must;
using numerics::cuda::Problem;

constexpr int kOldest = 8;  // compute capability: cp.async, and mma of bytes
constexpr const char* kNeeds =
    "it needs NVIDIA's driver 580 or later, and a GPU of compute capability 8.0; or use --device "
    "cpu";

// Who else would see an exception does not know this library's.
template <class Body>
void guarded(Problem& problem, const Body& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    problem = {"no memory is left", "nvidia-smi shows who has the GPU's"};
  } catch (const Error& error) {
    problem = {error.message(), error.hint()};
  } catch (const std::exception& error) {
    problem = {error.what(), ""};
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
    throw Error(Code::kEnvironment,
                there ? "the driver knows CUDA up to " + text_of(version) + ", and " +
                            text_of(CUDART_VERSION) + " is needed"
                      : "there is no NVIDIA driver here",
                kNeeds);
  }
  if (code == cudaErrorUnknown)  // of a laptop that slept, say
    throw Error(Code::kEnvironment, "not available: the driver does not say why",
                "load the kernel module nvidia_uvm anew, or restart the machine");
  must(code, "the driver");
  return count;
}

// CUDA shows GPUs of this list up to the first name that is not here.
[[noreturn]] void refuse_number(int count) {
  const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string seen = list == nullptr ? "" : " of CUDA_VISIBLE_DEVICES=" + std::string(list);
  const std::string until = "the list counts up to the first name that is not here (nvidia-smi -L)";
  if (count == 0)
    throw Error(Code::kEnvironment, "the driver shows no GPU" + seen, list ? until : kNeeds);
  throw Error(Code::kEnvironment,
              "the driver shows " + std::to_string(count) + " of them" + seen + ", numbered from 0",
              list ? until : "nvidia-smi -L lists them");
}

void require(int number) {
  const int count = count_of_driver();
  if (number >= count) refuse_number(count);
  int major = 0, minor = 0;
  must(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number), "its age");
  must(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, number), "its age");
  if (major < kOldest)
    throw Error(Code::kEnvironment,
                "its compute capability is " + std::to_string(major) + "." + std::to_string(minor) +
                    ", and 8.0 is needed",
                kNeeds);
  int pools = 0;
  must(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, number), "its memory");
  if (pools == 0)
    throw Error(Code::kEnvironment, "it has no memory pools (cudaMallocAsync), as some vGPUs",
                kNeeds);
}

}  // namespace

LOCKSTEP_PLUGIN(cuda)

LOCKSTEP_EXPORTED void lockstep_cuda_count(int& count, Problem& problem) {
  guarded(problem, [&] { count = count_of_driver(); });
}

LOCKSTEP_EXPORTED void lockstep_cuda_needs(int number, Problem& problem) {
  guarded(problem, [&] { require(number); });
}

LOCKSTEP_EXPORTED void lockstep_cuda_uuid(int number, std::string& uuid, Problem& problem) {
  guarded(problem, [&] {
    require(number);
    uuid = numerics::cuda::uuid_of(number);
  });
}

LOCKSTEP_EXPORTED void lockstep_cuda_open(int number, int threads, double patience, int cut_for,
                                          numerics::Gpu& opened, Problem& problem) {
  guarded(problem, [&] {
    numerics::cuda::Patience::seconds = patience;
    require(number);
    auto gpu = std::make_unique<Gpu>(number, cut_for);
    gpu->load();
    opened.memory = std::make_shared<numerics::cuda::Memory<Gpu>>(gpu->clone());
    opened.kernels = std::make_unique<numerics::cuda::Device<Gpu>>(std::move(gpu), threads);
  });
}
