// On a GPU whose PTX is interpreted, kernels reach the bytes of a test's vectors and none beside.
#include <gtest/gtest.h>

#include <vector>

#include "support/gpu/gpu.h"

namespace lockstep::numerics {
namespace {

TEST(GpuBoundsDeathTest, AFloatTooFarIsSeen) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr std::int64_t kFloats = 1000;
  const auto gpu = test::gpu::make_gpu(1);
  std::vector<float> x(kFloats, 1.0F), y(kFloats), longer(kFloats + 1);
  gpu->scale(kFloats, 2, x.data(), y.data());
  EXPECT_EQ(y.back(), 2);
  const char* const seen = "outside of what was allocated";
  EXPECT_DEATH(gpu->scale(kFloats + 1, 2, x.data(), longer.data()), seen);  // read
  EXPECT_DEATH(gpu->scale(kFloats + 1, 2, longer.data(), y.data()), seen);  // written
}

}  // namespace
}  // namespace lockstep::numerics
