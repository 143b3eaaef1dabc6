// Private: what the plug-in liblockstep_cuda.so exports. No exception crosses this border: "" means
// success, any other text says what went wrong.
#pragma once

#include <string>

#include "lockstep/numerics/cuda.h"

namespace lockstep::numerics::cuda {

inline constexpr const char* kCount = "lockstep_cuda_count";
using Count = void (*)(int& count, std::string& problem);

// Whether this GPU can compute: nothing of it is taken.
inline constexpr const char* kNeeds = "lockstep_cuda_needs";
using Needs = void (*)(int number, std::string& problem);

// Of this GPU, 32 hexadecimal digits.
inline constexpr const char* kUuid = "lockstep_cuda_uuid";
using Uuid = void (*)(int number, std::string& uuid, std::string& problem);

inline constexpr const char* kOpen = "lockstep_cuda_open";
using Open = void (*)(int number, int threads, double patience, int cut_for, numerics::Gpu& opened,
                      std::string& problem);

}  // namespace lockstep::numerics::cuda
