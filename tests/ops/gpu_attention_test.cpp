// Attention on a GPU takes larger pieces (docs/architecture.md, Attention).
#include <gtest/gtest.h>

#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "ops/attention_memory.h"
#include "ops/one_gpu.h"

namespace lockstep::ops {
namespace {

TEST(GpuAttention, TakesLargerPiecesAlsoInAWalk) {
  const std::int64_t n = 4, tokens = 1024, heads = 8;
  const std::int64_t matrix = 4 * tokens * tokens;  // bytes
  const numerics::Gpu& gpu = testing::one_gpu();
  EXPECT_EQ(memory_of_attention(n, tokens, heads, 16).peak, 2 * matrix);
  const DeviceScope here(*gpu.kernels, gpu_tensors(gpu.memory));
  // Two pieces of 64 MiB, and what kernels take for themselves.
  const std::int64_t peak = memory_of_attention(n, tokens, heads, 16).peak;
  EXPECT_GE(peak, 2 * 16 * matrix);
  EXPECT_LT(peak, 2 * 17 * matrix);
}

}  // namespace
}  // namespace lockstep::ops
