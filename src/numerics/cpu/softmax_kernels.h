// Private: softmax on a few rows, one thread.
#pragma once

#include <cstdint>

#include "lockstep/numerics/isa.h"

namespace lockstep::numerics {

// scratch: one float a row.
struct SoftmaxKernels {
  void (*forward)(std::int64_t rows, std::int64_t cols, float scale, const float* x, float* y,
                  float* scratch);
  void (*backward)(std::int64_t rows, std::int64_t cols, float scale, const float* y,
                   const float* dy, float* dx, float* scratch);
};

extern const SoftmaxKernels kSoftmaxScalar;
const SoftmaxKernels& softmax_kernels(Isa isa);

}  // namespace lockstep::numerics
