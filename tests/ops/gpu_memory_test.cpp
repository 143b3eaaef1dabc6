// LibTorch's allocator of a GPU beside ours.
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "lockstep/ops/device.h"
#include "lockstep/ops/gpu_tensors.h"
#include "lockstep/ops/numerics.h"
#include "ops/counting.h"
#include "ops/native.h"
#include "ops/native_memory.h"
#include "ops/one_gpu.h"

namespace lockstep::ops {
namespace {

class TheirMemory : public ::testing::Test {
 protected:
  TheirMemory() { native::watch_allocator(&theirs_, testing::kCountedGpu); }
  ~TheirMemory() override { native::watch_allocator(nullptr, 0); }

  testing::Counting theirs_;
};

TEST_F(TheirMemory, WhatTheyKeepIsGivenBackBeforeOursIsLacking) {
  const numerics::Gpu& gpu = testing::one_gpu();
  const at::Device device = gpu_tensors(gpu.memory);
  const DeviceScope here(*gpu.kernels, device);
  const auto take = [&](std::int64_t bytes) {
    at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(device));
  };
  take(1000);
  EXPECT_EQ(theirs_.emptied, 0);
  EXPECT_THROW(take(std::int64_t{1} << 40), std::bad_alloc);
  EXPECT_EQ(theirs_.emptied, 1);
  EXPECT_THROW(gpu.memory->begin_from_host(std::size_t{1} << 40, nullptr), std::bad_alloc);
  EXPECT_EQ(theirs_.emptied, 2);
  native::watch_allocator(nullptr, 0);
  EXPECT_THROW(take(std::int64_t{1} << 40), std::bad_alloc);
}

// As where cuDNN has taken another algorithm.
TEST_F(TheirMemory, AKernelThatGoesOnWithoutMemoryDoesNot) {
  const NumericsScope scope({.native = true, .samples = 1});
  theirs_.lacked = 5;  // before
  EXPECT_NO_THROW(native::for_each_piece(2, 0, [](const native::Piece&) {}));
  const auto lacks = [&](const native::Piece& piece) { theirs_.lacked += piece.index; };
  EXPECT_THROW(native::for_each_piece(2, 0, lacks), std::bad_alloc);
}

// As where cuDNN has none left that has enough.
TEST_F(TheirMemory, AKernelThatIsNotFoundForLackOfMemoryLacksMemory) {
  const auto fails = [] { TORCH_CHECK(false, "GET was unable to find an engine"); };
  EXPECT_THROW(native::with_enough_memory(fails), c10::Error);
  EXPECT_THROW(native::with_enough_memory([&] {
                 ++theirs_.lacked;
                 fails();
               }),
               std::bad_alloc);
}

// cuDNN's frontend throws exceptions that are not LibTorch's.
TEST_F(TheirMemory, AnyExceptionForLackOfMemoryLacksMemory) {
  EXPECT_THROW(native::with_enough_memory([&] {
                 ++theirs_.lacked;
                 throw std::runtime_error("no plan");
               }),
               std::bad_alloc);
}

}  // namespace
}  // namespace lockstep::ops
