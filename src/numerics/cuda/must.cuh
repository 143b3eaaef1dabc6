// Private: errors of CUDA's runtime as ours; a GPU that hangs; a thread's GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cmath>
#include <new>
#include <string>

#include "lockstep/core/error.h"

namespace lockstep::numerics::cuda {

inline constexpr const char* kAfterwards =
    "`lockstep doctor --device cuda` looks at the GPU; a run goes on from its last checkpoint, "
    "elsewhere too";

// A driver may leave work undone and say nothing (github.com/pytorch/pytorch/issues/196133). So no
// wait for an event lasts longer than this, and after one that did, the GPU is asked for nothing.
struct Patience {
  static inline std::atomic<double> seconds{600};
  static inline std::atomic<bool> over{false};
};
inline bool hangs() noexcept {
  return Patience::over;
}
[[noreturn]] inline void end_for_hanging() {
  throw Error(Code::kEnvironment,
              "CUDA: the GPU hangs: it has not done its work in " +
                  std::to_string(std::lround(Patience::seconds)) + " s",
              kAfterwards);
}

// What to do where nothing can be computed, and nothing was; null for other errors.
inline const char* how_it_becomes_available(cudaError_t code) {
  switch (code) {
    case cudaErrorDevicesUnavailable:
      return "perhaps another process has it for itself, or it wants a reset (nvidia-smi); or give "
             "another: --device cuda:N";
    case cudaErrorSystemNotReady:
      return "nvidia-fabricmanager must run";
    case cudaErrorSystemDriverMismatch:
      return "the driver was replaced (restart the machine), or a container brings another "
             "libcuda.so";
    default:
      return nullptr;
  }
}

inline void must(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // forgets it, or the next launch would have failed
  if (code == cudaErrorMemoryAllocation) throw std::bad_alloc();
  if (const char* const how = how_it_becomes_available(code))
    throw Error(Code::kEnvironment, std::string("not available: ") + cudaGetErrorString(code), how);
  throw Error(Code::kEnvironment, std::string("CUDA: ") + what + ": " + cudaGetErrorString(code),
              code == cudaErrorLaunchTimeout
                  ? "it drives a display, for which long kernels are ended: --lanes-at-once 1, or "
                    "a GPU without a display; a run goes on from its last checkpoint"
                  : kAfterwards);
}

// CUDA's runtime knows a GPU for each thread of the host, and others in a thread change it:
// LibTorch's engine before each node, once LibTorch has CUDA. So it is told each time.
inline int make_current(int number) {
  if (hangs()) end_for_hanging();
  must(cudaSetDevice(number), "the GPU");  // may tell of a kernel before
  return number;
}

}  // namespace lockstep::numerics::cuda
