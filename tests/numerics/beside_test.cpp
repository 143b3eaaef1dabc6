// Kernels beside the others (numerics/device_memory.h): on an emulated GPU, whose streams work in
// random orders, and on real and interpreted ones.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

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

// Floats in a memory of the GPU.
class There {
 public:
  explicit There(DeviceMemory& memory)
      : memory_(memory), floats_(static_cast<float*>(memory.take(kFloats * sizeof(float)))) {}
  ~There() { memory_.give_back(floats_); }
  There(const There&) = delete;
  There& operator=(const There&) = delete;
  operator float*() const { return floats_; }

 private:
  DeviceMemory& memory_;
  float* floats_;
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

TEST(Beside, SeesWhatWasGivenBeforeAMark) {
  const Gpu beside = gpu().memory->beside();
  const There first(*gpu().memory), second(*beside.memory);
  for (int i = 0; i < kOften; ++i) {
    const auto value = static_cast<float>(i);
    device().fill(kFloats, value, first);
    const std::unique_ptr<Mark> filled = device().mark();
    std::jthread([&] {
      filled->wait();
      beside.kernels->scale(kFloats, 2, first, second);
      beside.kernels->mark()->wait();
    }).join();
    device().scale(kFloats, 3, second, first);
    ASSERT_EQ(values(device(), first), all(6 * value));
  }
}

// What is beside does not wait for what the device is given after the mark.
TEST(Beside, HasAnOrderOfItsOwn) {
  const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking != nullptr && std::string(blocking) == "1")
    GTEST_SKIP() << "each launch is waited for";
  const Gpu beside = gpu().memory->beside();
  const There first(*gpu().memory);
  int before = 0;
  for (int i = 0; i < kOften; ++i) {
    device().fill(kFloats, 1, first);
    device().mark()->wait();
    for (int later = 0; later < 50; ++later) device().scale(kFloats, 1, first, first);
    device().fill(kFloats, 2, first);
    std::vector<float> one(1);
    beside.kernels->to_host(sizeof(float), first, one.data());
    before += one[0] == 1 ? 1 : 0;
    static_cast<void>(values(device(), first));
  }
  EXPECT_GT(before, 0);
}

// All that is beside the GPU's other work is in one order, with its memory.
TEST(Beside, IsOneOrder) {
  const Gpu one = gpu().memory->beside(), other = gpu().memory->beside();
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

TEST(Beside, IsNotCaptured) {
  const Gpu beside = gpu().memory->beside();
  const There first(*gpu().memory), second(*beside.memory);
  device().fill(kFloats, 1, first);
  const auto captured = device().capture([&] {
    device().fill(kFloats, 2, first);
    beside.kernels->fill(kFloats, 3, second);
    EXPECT_EQ(values(*beside.kernels, second), all(3));
  });
  EXPECT_EQ(values(device(), first), all(1));
  EXPECT_THROW(beside.kernels->capture([] {}), Error);
  captured->launch(0);
  EXPECT_EQ(values(device(), first), all(2));
}

}  // namespace
}  // namespace lockstep::numerics
