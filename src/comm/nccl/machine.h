// What ranks must know of each other's GPUs, libraries and drivers before NCCL connects them: it
// does not say itself what does not fit, or hangs.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace lockstep::comm {

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

// With the last that NCCL itself had to say, in one line: its errors have names alone. It may be of
// an earlier call.
inline void check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  std::string said = ncclGetLastError(nullptr);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  for (char& letter : said)
    if (letter == '\n') letter = ' ';
  throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(result) +
                           (said.empty() ? "" : " (NCCL's last warning: " + said + ")"));
}

struct Machine {
  std::string versions;   // "NCCL 2.28.9 and a driver of CUDA 13.0"
  std::string gpu;        // the same text for the same GPU of the same host, and for no other
  bool computes = false;  // the rank's kernels run there
};

// Why this machine cannot run it, or "".
std::string missing();
// "NCCL 2.28.9"; "" if it does not say.
std::string version();

// Throws std::runtime_error.
Machine this_machine(int gpu, bool computes);

// For other ranks; it ends where machine_of leaves off, which throws std::runtime_error if `text`
// does not begin with one.
std::string text_of(const Machine& machine);
Machine machine_of(std::string_view& text);

// Why NCCL would not connect these two ranks, naming both, or "".
std::string mismatch(std::size_t rank, const Machine& mine, std::size_t other,
                     const Machine& theirs);

}  // namespace lockstep::comm
