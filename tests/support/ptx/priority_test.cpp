// Whose blocks a GPU's multiprocessors take first.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <utility>

#include "numerics/cuda/stream_context.cuh"

namespace lockstep::numerics::cuda {
namespace {

struct Range {
  Range() { EXPECT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess); }

  int least = 0, greatest = 0;  // a lower number
};

int priority_of(cudaStream_t stream) {
  int priority = 1;
  EXPECT_EQ(cudaStreamGetPriority(stream, &priority), cudaSuccess);
  return priority;
}

TEST(PtxPriority, IsWhatAStreamWasGiven) {
  const Range range;
  ASSERT_LT(range.greatest, range.least);
  for (const auto& [given, expected] :
       {std::pair(range.least, range.least), std::pair(range.greatest, range.greatest),
        std::pair(range.greatest + 1, range.greatest + 1),
        std::pair(range.greatest - 1, range.greatest), std::pair(range.least + 1, range.least)}) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, given), cudaSuccess);
    EXPECT_EQ(priority_of(stream), expected) << given;
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
}

TEST(PtxPriority, OfWorkThatOthersWaitForIsTheHighest) {
  const StreamContext kernels(0);
  const StreamContext exchange(kernels.pool());
  EXPECT_EQ(priority_of(kernels.stream()), 0);
  EXPECT_EQ(priority_of(exchange.stream()), Range().greatest);
}

}  // namespace
}  // namespace lockstep::numerics::cuda
