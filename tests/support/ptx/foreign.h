// What a library needs whose kernels work in interpreted GPUs' memory without being PTX
// (support/nccl): of the stand-in for CUDA's runtime.
#pragma once

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>

namespace lockstep::test::ptx {

// Adds to what a stream has to do: `work` on the GPU's memory, not before `ready` says so. Neither
// may call the runtime. Ends the program if there is no such stream.
void put_when(cudaStream_t stream, std::function<bool()> ready, std::function<void()> work);

// Inside of `work`: a copy to or from the GPU's memory. Ends the program where that is none.
void move(void* to, const void* from, std::size_t bytes);

// Takes so much of the GPU's memory for good, and leaves it as it is. False: there is less.
bool occupy(std::size_t bytes);

bool is_of_gpu(const void* address);

}  // namespace lockstep::test::ptx
#pragma GCC visibility pop
