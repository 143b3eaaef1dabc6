// LibTorch has CUDA's allocator only where a GPU is: one that counts stands in for it.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <new>

namespace lockstep::ops::testing {

constexpr c10::DeviceIndex kCountedGpu = 3;  // whose memory it is asked for

class Counting final : public c10::DeviceAllocator {
 public:
  int emptied = 0;
  std::int64_t lacked = 0;

  c10::DataPtr allocate(std::size_t) override { throw std::bad_alloc(); }
  void copy_data(void*, const void*, std::size_t) const override {}
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { ++emptied; }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex gpu) override {
    EXPECT_EQ(gpu, kCountedGpu);
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.num_ooms = lacked;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
};

}  // namespace lockstep::ops::testing
