// Far memory by itself: distances, alignment, what fresh memory holds, what is free.
#include "support/far_device/memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "lockstep/core/error.h"

namespace lockstep::testing::far {
namespace {

TEST(FarMemory, IsReachedOverOneDistance) {
  auto* const x = static_cast<float*>(allocate(12));
  near(x)[2] = 0.5F;
  EXPECT_EQ(near(x + 2), near(x) + 2);
  EXPECT_EQ(near(x + 2)[0], 0.5F);
  EXPECT_TRUE(is_far(x));
  EXPECT_FALSE(is_far(near(x)));
  release(x);
}

TEST(FarMemory, TellsAddressesOfTheHost) {
  float host = 0;
  EXPECT_FALSE(is_far(&host));
  EXPECT_FALSE(is_far(nullptr));
  EXPECT_EQ(near(static_cast<float*>(nullptr)), nullptr);
  EXPECT_THROW(near(&host), Error);
  void* const x = allocate(4);
  EXPECT_THROW(near(near(x)), Error) << "the distance was added twice";
  release(x);
}

TEST(FarMemory, IsAlignedAndHoldsNoZeros) {
  for (const std::size_t bytes : {1, 4, 63, 64, 65, 4096, 100000}) {
    auto* const x = static_cast<unsigned char*>(allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x) % kAlignment, 0U);
    EXPECT_TRUE(std::all_of(near(x), near(x) + bytes, [](int byte) { return byte == 0xff; }));
    std::memset(near(x), 0, bytes);  // for the next one
    release(x);
  }
}

TEST(FarMemory, NobodyHasWhatLiesBehind) {
  auto* const one = static_cast<char*>(allocate(kAlignment));
  auto* const other = static_cast<char*>(allocate(kAlignment));
  for (char* const behind : {one + kAlignment, one + 2 * kAlignment - 1, other + kAlignment})
    EXPECT_FALSE(place_of(behind).allocation);
  EXPECT_TRUE(place_of(one + kAlignment - 1).allocation);
  release(one);
  release(other);
}

TEST(FarMemory, IsNothingForSystemCalls) {
  void* const x = allocate(8);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], x, 8), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(write(ends[1], near(x), 8), 8);
  EXPECT_EQ(read(ends[0], x, 8), -1);
  EXPECT_EQ(errno, EFAULT);
  for (const int end : ends) close(end);
  release(x);
}

TEST(FarMemory, RefusesWhatItDidNotGive) {
  void* const x = allocate(256);
  EXPECT_THROW(release(near(x)), Error);
  EXPECT_THROW(release(static_cast<char*>(x) + 64), Error);
  release(x);
  EXPECT_THROW(release(x), Error) << "twice";
  release(nullptr);
}

TEST(FarMemory, HasAnEnd) {
  EXPECT_EQ(allocate(0), nullptr);
  EXPECT_EQ(allocate(kMemoryBytes + 1), nullptr);
  EXPECT_EQ(allocate(SIZE_MAX), nullptr);
}

TEST(FarMemory, SaysWhereAnAddressIs) {
  auto* const x = static_cast<char*>(allocate(100));
  const Place place = place_of(x + 70);
  ASSERT_TRUE(place.allocation);
  EXPECT_EQ(place.allocation->byte, 70U);
  EXPECT_EQ(place.allocation->bytes, kAlignment);
  EXPECT_EQ(place_of(x + 71).byte, place.byte + 1);
  release(x);
  EXPECT_FALSE(place_of(x + 70).allocation);
}

// Allocations keep their bytes whatever comes and goes around them, and all of it is free again.
RC_GTEST_PROP(FarMemory, IsNeverGivenTwice, (const std::vector<std::uint16_t>& sizes)) {
  struct Held {
    unsigned char* at;
    std::size_t bytes;
    unsigned char mark;
  };
  // Autograd's thread may still let go of tensors of the test before.
  for (int i = 0; i < 10000 && bytes_in_use() != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  RC_ASSERT(bytes_in_use() == 0U);
  std::vector<Held> held;
  const auto check_and_release = [&](std::size_t i) {
    const Held& one = held[i];
    RC_ASSERT(std::all_of(near(one.at), near(one.at) + one.bytes,
                          [&](unsigned char byte) { return byte == one.mark; }));
    release(one.at);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
  };
  for (const std::uint16_t size : sizes) {
    const std::size_t bytes = size % 3000U + 1;
    auto* const at = static_cast<unsigned char*>(allocate(bytes));
    held.push_back({at, bytes, static_cast<unsigned char>(size)});
    std::memset(near(at), held.back().mark, bytes);
    if (size % 2 == 0) check_and_release(size / 2 % held.size());
  }
  while (!held.empty()) check_and_release(held.size() / 2);
  RC_ASSERT(bytes_in_use() == 0U);
  void* const large = allocate(kMemoryBytes / 64);  // in front, if neighbours were joined
  RC_ASSERT(place_of(large).byte == 0U);
  release(large);
}

}  // namespace
}  // namespace lockstep::testing::far
