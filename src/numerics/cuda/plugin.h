// Private: what the plug-in liblockstep_cuda.so exports. No exception crosses this border.
#pragma once

#include <string>

#include "lockstep/numerics/cuda.h"

namespace lockstep::numerics::cuda {

// What went wrong, and what to do; no message: nothing.
struct Problem {
  std::string message, hint;
};

inline constexpr const char* kCount = "lockstep_cuda_count";
using Count = void (*)(int& count, Problem& problem);

// Whether this GPU can compute: nothing of it is taken.
inline constexpr const char* kNeeds = "lockstep_cuda_needs";
using Needs = void (*)(int number, Problem& problem);

// Of this GPU, 32 hexadecimal digits.
inline constexpr const char* kUuid = "lockstep_cuda_uuid";
using Uuid = void (*)(int number, std::string& uuid, Problem& problem);

inline constexpr const char* kOpen = "lockstep_cuda_open";
using Open = void (*)(int number, int threads, double patience, int cut_for, numerics::Gpu& opened,
                      Problem& problem);

}  // namespace lockstep::numerics::cuda
