// A GPU's memory (numerics/cuda/pool.cuh) on the stand-in for CUDA's runtime, whose pool keeps and
// releases memory as CUDA's does.
#include "numerics/cuda/pool.cuh"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace lockstep::numerics::cuda {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kAll = 64 * kMiB;
// Before the stand-in looks.
[[maybe_unused]] const bool kTold = setenv("LOCKSTEP_PTX_MEMORY", "65536", /*overwrite=*/1) == 0;

cudaMemPool_t the_pool() {
  cudaMemPool_t pool = nullptr;
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  return pool;
}
std::int64_t attribute(cudaMemPoolAttr which) {
  std::uint64_t bytes = 0;
  EXPECT_EQ(cudaMemPoolGetAttribute(the_pool(), which, &bytes), cudaSuccess);
  return static_cast<std::int64_t>(bytes);
}
std::int64_t reserved() {
  return attribute(cudaMemPoolAttrReservedMemCurrent);
}
std::int64_t used() {
  return attribute(cudaMemPoolAttrUsedMemCurrent);
}
// The pool's is not.
std::int64_t free_of_gpu() {
  std::size_t free = 0, all = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &all), cudaSuccess);
  EXPECT_EQ(static_cast<std::int64_t>(all), kAll);
  return static_cast<std::int64_t>(free);
}
void trim(std::int64_t keep) {
  EXPECT_EQ(cudaMemPoolTrimTo(the_pool(), static_cast<std::size_t>(keep)), cudaSuccess);
}
void threshold(std::uint64_t bytes) {
  EXPECT_EQ(cudaMemPoolSetAttribute(the_pool(), cudaMemPoolAttrReleaseThreshold, &bytes),
            cudaSuccess);
}
void wait() {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

void* take(std::int64_t bytes, cudaStream_t stream = nullptr) {
  void* block = nullptr;
  EXPECT_EQ(cudaMallocAsync(&block, static_cast<std::size_t>(bytes), stream), cudaSuccess);
  return block;
}
void* take(Pool& pool, std::int64_t bytes, cudaStream_t stream = nullptr) {
  return pool.take(static_cast<std::size_t>(bytes), stream);
}
void give_back(void* block, cudaStream_t stream = nullptr) {
  EXPECT_EQ(cudaFreeAsync(block, stream), cudaSuccess);
}

// Each begins and ends with nothing in the pool.
class PtxPool : public testing::Test {
 protected:
  void SetUp() override {
    threshold(0);
    int allowed = 1;
    EXPECT_EQ(
        cudaMemPoolSetAttribute(the_pool(), cudaMemPoolReuseAllowInternalDependencies, &allowed),
        cudaSuccess);
    EXPECT_EQ(free_of_gpu(), kAll);
  }
  void TearDown() override {
    wait();
    trim(0);
    EXPECT_EQ(free_of_gpu(), kAll) << "what was taken is given back";
  }
};

TEST_F(PtxPool, ReleasesWhatTheHostHasSeenToBeDone) {
  void* block = take(8 * kMiB);
  EXPECT_EQ(reserved(), 8 * kMiB);
  EXPECT_EQ(used(), 8 * kMiB);
  EXPECT_EQ(free_of_gpu(), kAll - 8 * kMiB);
  give_back(block);
  block = take(6 * kMiB);
  EXPECT_EQ(reserved(), 8 * kMiB) << "the stream has at once what it gave back";
  give_back(block);
  EXPECT_EQ(used(), 8 * kMiB) << "nobody has waited";
  trim(0);
  EXPECT_EQ(reserved(), 8 * kMiB);
  wait();
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(reserved(), 0);
}

TEST_F(PtxPool, KeepsAsMuchAsItIsToldTo) {
  threshold(8 * kMiB);
  void *const large = take(8 * kMiB), *const small = take(4 * kMiB);
  give_back(large);
  give_back(small);
  EXPECT_EQ(reserved(), 12 * kMiB);
  wait();
  EXPECT_EQ(reserved(), 8 * kMiB);
  EXPECT_EQ(used(), 0);
  void* const part = take(2 * kMiB);
  EXPECT_EQ(reserved(), 8 * kMiB);
  EXPECT_EQ(used(), 2 * kMiB);
  trim(0);
  EXPECT_EQ(reserved(), 8 * kMiB) << "a block lies in it";
  give_back(part);
  wait();
  trim(8 * kMiB);
  EXPECT_EQ(reserved(), 8 * kMiB);
  trim(0);
  EXPECT_EQ(reserved(), 0);
}

TEST_F(PtxPool, KeepsItFromOthers) {
  threshold(UINT64_MAX);
  give_back(take(kAll / 4 * 3));
  wait();
  void* others = nullptr;
  EXPECT_EQ(cudaMalloc(&others, kAll / 2), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  trim(0);
  EXPECT_EQ(cudaMalloc(&others, kAll / 2), cudaSuccess);
  EXPECT_EQ(reserved(), 0) << "it is not the pool's";
  EXPECT_EQ(free_of_gpu(), kAll / 2);
  EXPECT_EQ(cudaFree(others), cudaSuccess);
}

TEST_F(PtxPool, WhatIsLeftIsFreeOrKept) {
  Pool pool(0);
  EXPECT_EQ(pool.left(), kAll);
  void *const large = take(pool, 8 * kMiB), *const small = take(pool, 4 * kMiB);
  EXPECT_EQ(pool.left(), kAll - 12 * kMiB);
  give_back(large);
  EXPECT_EQ(pool.left(), kAll - 4 * kMiB);
  EXPECT_EQ(free_of_gpu(), kAll - 12 * kMiB);
  give_back(small);
  EXPECT_EQ(pool.left(), kAll);
  EXPECT_EQ(free_of_gpu(), kAll - 12 * kMiB);
}

// The driver is slow to take memory of the GPU.
TEST_F(PtxPool, AStepAsTheOneBeforeTakesNoneOfTheGpus) {
  Pool pool(0);
  const auto step = [&] {
    void *const large = take(pool, 3 * kMiB), *const small = take(pool, kMiB);
    give_back(large);
    void* const other = take(pool, 2 * kMiB);
    const std::int64_t free = free_of_gpu();
    give_back(small);
    give_back(other);
    return free;
  };
  step();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(pool.left(), kAll);  // it waits, too
    const std::int64_t free = free_of_gpu();
    EXPECT_EQ(step(), free);
  }
}

TEST_F(PtxPool, ALargeBlockIsMadeOfWhatSmallOnesLeft) {
  Pool pool(0);
  std::vector<void*> small;
  for (int i = 0; i < 4; ++i) small.push_back(take(pool, kAll / 5));
  for (void* const block : small) give_back(block);
  EXPECT_EQ(pool.left(), kAll);
  void* large = nullptr;
  EXPECT_NO_THROW(large = take(pool, kAll / 2));
  give_back(large);
  EXPECT_THROW(take(pool, kAll * 2), std::bad_alloc);
}

TEST_F(PtxPool, AnotherStreamHasWhatIsDone) {
  Pool pool(0);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  give_back(take(pool, kAll / 4 * 3));
  void* block = nullptr;
  EXPECT_EQ(cudaMallocAsync(&block, kAll / 2, other), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_NO_THROW(block = take(pool, kAll / 2, other));
  EXPECT_EQ(reserved(), kAll / 4 * 3);
  give_back(block, other);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
}

}  // namespace
}  // namespace lockstep::numerics::cuda
