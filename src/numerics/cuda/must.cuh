// Private: errors of CUDA's runtime as ours; a thread's GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <new>
#include <string>

#include "lockstep/core/error.h"

namespace lockstep::numerics::cuda {

inline void must(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // forgets it, or the next launch would have failed
  if (code == cudaErrorMemoryAllocation) throw std::bad_alloc();
  throw Error(Code::kEnvironment, std::string("CUDA: ") + what + ": " + cudaGetErrorString(code),
              "`lockstep doctor --device cuda` looks at the GPU; a run goes on from its last "
              "checkpoint, elsewhere too");
}

// CUDA's runtime knows a GPU for each thread of the host, and others in a thread change it:
// LibTorch's engine before each node, once LibTorch has CUDA. So it is told each time.
inline int make_current(int number) {
  must(cudaSetDevice(number), "the GPU");  // may tell of a kernel before
  return number;
}

}  // namespace lockstep::numerics::cuda
