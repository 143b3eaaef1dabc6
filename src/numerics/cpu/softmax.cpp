
#include <algorithm>

#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/softmax_kernels.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kRows =
    32;  // rows a kernel call: several vectors of them, still in the cache

}  // namespace

void Cpu::softmax(std::int64_t rows, std::int64_t cols, float scale, const float* x, float* y) {
  const SoftmaxKernels& kernels = softmax_kernels(isa());
  parallel_for(rows, kRows, [&](std::int64_t begin, std::int64_t end) {
    float scratch[kRows];
    for (std::int64_t i = begin; i < end; i += kRows) {
      kernels.forward(std::min(kRows, end - i), cols, scale, x + i * cols, y + i * cols, scratch);
    }
  });
}

void Cpu::softmax_backward(std::int64_t rows, std::int64_t cols, float scale, const float* y,
                           const float* dy, float* dx) {
  const SoftmaxKernels& kernels = softmax_kernels(isa());
  parallel_for(rows, kRows, [&](std::int64_t begin, std::int64_t end) {
    float scratch[kRows];
    for (std::int64_t i = begin; i < end; i += kRows) {
      kernels.backward(std::min(kRows, end - i), cols, scale, y + i * cols, dy + i * cols,
                       dx + i * cols, scratch);
    }
  });
}

}  // namespace lockstep::numerics
