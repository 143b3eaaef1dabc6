// The heap of large tensors: blocks lie apart, keep what is written, and what is free is used
// again.
#include "ops/large_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace lockstep::ops {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Held {
  std::uint64_t* words;
  std::size_t count;
  std::uint64_t value;
};

// Blocks of random sizes are taken, filled, looked at again and given back; more, then fewer.
void use(LargeBlocks& blocks, unsigned seed, std::size_t most) {
  std::mt19937 random(seed);
  std::vector<Held> held;
  for (int i = 0; i < 3000; ++i) {
    const bool takes = random() % 100 < (i % 1000 < 500 ? 60U : 40U);
    if (takes || held.empty()) {
      const std::size_t count = 1 + random() % (random() % 20 == 0 ? most : most / 20);
      auto* const words = static_cast<std::uint64_t*>(blocks.allocate(8 * count));
      ASSERT_NE(words, nullptr);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(words) % 64, 0U);
      ASSERT_EQ(words[-1], 0U);
      held.push_back({words, count, std::uint64_t{seed} << 32 | static_cast<unsigned>(i)});
      std::fill_n(words, count, held.back().value);
      continue;
    }
    std::swap(held[random() % held.size()], held.back());
    const Held one = held.back();
    held.pop_back();
    for (std::size_t k = 0; k < one.count; ++k) ASSERT_EQ(one.words[k], one.value) << k;
    blocks.release(one.words);
  }
  for (const Held& one : held) blocks.release(one.words);
}

// Free neighbours have become one, as large as all of the heap.
void expect_whole(LargeBlocks& blocks) {
  const std::size_t extent = blocks.extent();
  void* const all = blocks.allocate(extent - 64);
  EXPECT_NE(all, nullptr);
  EXPECT_EQ(blocks.extent(), extent);
  blocks.release(all);
}

TEST(LargeBlocks, LieApartAndKeepWhatIsWritten) {
  const auto blocks = LargeBlocks::of(std::size_t{4} << 30);
  for (unsigned seed = 1; seed <= 4; ++seed) {
    use(*blocks, seed, 20'000);
    expect_whole(*blocks);
  }
}

TEST(LargeBlocks, OfSeveralThreadsLieApart) {
  const auto blocks = LargeBlocks::of(std::size_t{4} << 30);
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed)
      threads.emplace_back([&, seed] { use(*blocks, seed, 5'000); });
  }
  expect_whole(*blocks);
}

TEST(LargeBlocks, OfOneThreadAreAnothersOnceTheyAreFree) {
  const auto blocks = LargeBlocks::of(64 * kMiB);
  void* first = nullptr;
  std::jthread([&] {
    first = blocks->allocate(20 * kMiB);
    blocks->release(first);
  }).join();
  void* const second = blocks->allocate(20 * kMiB);
  EXPECT_EQ(second, first);
  EXPECT_EQ(blocks->extent(), 20 * kMiB + 64);
}

TEST(LargeBlocks, TheSmallestThatFitsIsTaken) {
  const auto blocks = LargeBlocks::of(64 * kMiB);
  void *large = blocks->allocate(10 * kMiB), *between = blocks->allocate(kMiB),
       *small = blocks->allocate(9 * kMiB);
  blocks->allocate(kMiB);
  blocks->release(small);
  blocks->release(large);
  EXPECT_EQ(blocks->allocate(9 * kMiB), small);
  EXPECT_EQ(blocks->allocate(9 * kMiB), large);
  blocks->release(between);
  // What is left of the first, and its neighbour.
  EXPECT_LT(blocks->allocate(2 * kMiB - 64), small);
}

TEST(LargeBlocks, OfMoreThanItMayGrowToAreNone) {
  const auto blocks = LargeBlocks::of(32 * kMiB);
  EXPECT_EQ(blocks->allocate(32 * kMiB), nullptr);
  EXPECT_EQ(blocks->allocate(~std::size_t{0}), nullptr);
  void* const most = blocks->allocate(32 * kMiB - 64);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(blocks->allocate(LargeBlocks::kLeast), nullptr);
  blocks->release(most);
  void* const one = blocks->allocate(kMiB);
  EXPECT_EQ(one, most);
  std::memset(one, 1, kMiB);
}

TEST(LargeBlocks, NoAddressesAreNoHeap) {
  EXPECT_EQ(LargeBlocks::of(std::size_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace lockstep::ops
