// Private: errors of CUDA's runtime as ours.
#pragma once

#include <cuda_runtime_api.h>

#include <new>
#include <string>

#include "lockstep/core/error.h"

namespace lockstep::numerics::cuda {

inline void must(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  if (code == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // forgets it
    throw std::bad_alloc();
  }
  throw Error(Code::kEnvironment, std::string("CUDA: ") + what + ": " + cudaGetErrorString(code));
}

}  // namespace lockstep::numerics::cuda
