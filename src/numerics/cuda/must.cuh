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
  throw Error(Code::kEnvironment, std::string("CUDA: ") + what + ": " + cudaGetErrorString(code));
}

// CUDA's runtime knows a GPU for each thread of the host.
inline int make_current(int number) {
  thread_local int current = -1;
  if (current == number) return number;
  must(cudaSetDevice(number), "no such GPU");
  return current = number;
}

}  // namespace lockstep::numerics::cuda
