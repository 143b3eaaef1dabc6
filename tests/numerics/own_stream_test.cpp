// Kernels in an order of their own (numerics/device_memory.h): on an emulated GPU, whose streams
// work in random orders, and on real and interpreted ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "gpu_floats.h"
#include "lockstep/core/error.h"
#include "support/gpu/gpu.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kFloats = 1 << 12;
// So often that what nobody orders is seen.
constexpr int kOften = 30;

const Gpu& gpu() {
  static const Gpu opened = test::gpu::open_gpu(5);
  return opened;
}
Device& device() {
  return *gpu().kernels;
}

struct There : GpuFloats {
  explicit There(DeviceMemory& memory, std::int64_t count = kFloats) : GpuFloats(memory, count) {}
};

// The values there, after what `of` was given.
std::vector<float> values(Device& of, const float* there) {
  std::vector<float> all(kFloats);
  of.to_host(kFloats * sizeof(float), there, all.data());
  return all;
}
std::vector<float> all(float value) {
  return std::vector<float>(kFloats, value);
}

TEST(OwnStream, SeesWhatWasGivenBeforeAMark) {
  const Gpu own = gpu().memory->own_stream();
  const There first(*gpu().memory), second(*own.memory);
  for (int i = 0; i < kOften; ++i) {
    const auto value = static_cast<float>(i);
    device().fill(kFloats, value, first);
    const std::unique_ptr<Event> filled = device().record_event();
    std::jthread([&] {
      filled->wait();
      own.kernels->scale(kFloats, 2, first, second);
      own.kernels->record_event()->wait();
    }).join();
    device().scale(kFloats, 3, second, first);
    ASSERT_EQ(values(device(), first), all(6 * value));
  }
}

// It does not wait for what the other order is given after the mark, not even to have memory that
// the other one gives back then.
TEST(OwnStream, IsNotThatOfOtherKernels) {
  const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking != nullptr && std::string(blocking) == "1")
    GTEST_SKIP() << "NOT PROVED: each launch is waited for";
  const Gpu own = gpu().memory->own_stream();
  // As much as a real GPU needs milliseconds for.
  const std::string name = device().name();
  const bool real = !name.starts_with("an emulated") && !name.starts_with("interpreted");
  const std::int64_t count = real ? std::int64_t{1} << 24 : kFloats;
  const There first(*gpu().memory, count);
  int before = 0;
  for (int i = 0; i < kOften; ++i) {
    device().fill(count, 1, first);
    device().record_event()->wait();
    for (int later = 0; later < 50; ++later) device().scale(count, 1, first, first);
    device().fill(count, 2, first);
    { const There given_back(*gpu().memory, count); }
    const There taken(*own.memory, count);
    own.kernels->fill(count, 3, taken);
    std::vector<float> one(1);
    own.kernels->to_host(sizeof(float), first, one.data());
    before += one[0] == 1 ? 1 : 0;
    static_cast<void>(values(device(), first));
  }
  EXPECT_GT(before, 0);
}

// What the other order gives back is free when its work is done, and no memory is lacking before.
TEST(OwnStream, HasTheMemoryThatTheOtherOneGivesBack) {
  const Gpu own = gpu().memory->own_stream();
  const There first(*gpu().memory);
  const std::int64_t most = gpu().memory->left().value() / sizeof(float) / 4 * 3;
  for (int i = 0; i < kOften; ++i) {
    {
      const There given_back(*gpu().memory, most);
      for (int later = 0; later < 50; ++later) device().scale(kFloats, 1, given_back, first);
    }
    const There taken(*own.memory, most);
    own.kernels->fill(kFloats, 3, taken);
    ASSERT_EQ(values(*own.kernels, taken), all(3));
  }
  EXPECT_THROW(own.memory->take(most * sizeof(float) * 2), std::bad_alloc);
}

// With its memory.
TEST(OwnStream, IsOneForAllThatAsk) {
  const Gpu one = gpu().memory->own_stream(), other = gpu().memory->own_stream();
  for (int i = 0; i < kOften; ++i) {
    const auto value = static_cast<float>(i);
    const There kept(*other.memory);
    {
      const There given_back(*one.memory);
      one.kernels->fill(kFloats, value, given_back);
      other.kernels->scale(kFloats, 2, given_back, kept);
    }
    const There again(*one.memory);
    one.kernels->fill(kFloats, -1, again);
    ASSERT_EQ(values(*one.kernels, kept), all(2 * value));
  }
}

TEST(OwnStream, IsNotCaptured) {
  const Gpu own = gpu().memory->own_stream();
  const There first(*gpu().memory), second(*own.memory);
  device().fill(kFloats, 1, first);
  const auto captured = device().capture([&] {
    device().fill(kFloats, 2, first);
    own.kernels->fill(kFloats, 3, second);
    EXPECT_EQ(values(*own.kernels, second), all(3));
  });
  EXPECT_EQ(values(device(), first), all(1));
  EXPECT_THROW(own.kernels->capture([] {}), Error);
  captured->launch(0);
  EXPECT_EQ(values(device(), first), all(2));
}

}  // namespace
}  // namespace lockstep::numerics
