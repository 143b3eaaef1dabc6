#include "lockstep/data/order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "lockstep/numerics/stream.h"

namespace lockstep::data {
namespace {

std::vector<std::int64_t> whole(numerics::PhiloxKey key, std::uint64_t epoch, std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < n; ++i) out.push_back(permute(key, epoch, n, i));
  return out;
}

numerics::PhiloxKey any_key() {
  return {*rc::gen::arbitrary<std::uint32_t>(), *rc::gen::arbitrary<std::uint32_t>()};
}

RC_GTEST_PROP(Order, EveryEpochVisitsEverySampleOnce, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, 5001);
  auto order = whole(any_key(), *rc::gen::arbitrary<std::uint64_t>(), n);
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  RC_ASSERT(order == all);
}

RC_GTEST_PROP(Order, EpochsAndKeysGiveDifferentOrders, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(30, 3000);
  const auto epoch = *rc::gen::inRange<std::uint64_t>(0, 1u << 20);
  const auto key = any_key();
  const auto order = whole(key, epoch, n);
  RC_ASSERT(order != whole(key, epoch + 1, n));
  RC_ASSERT(order != whole(key, epoch + (std::uint64_t{1} << 32), n));
  RC_ASSERT(order != whole({key[0] ^ 1, key[1]}, epoch, n));
  RC_ASSERT(order != whole({key[0], key[1] ^ 1}, epoch, n));
}

RC_GTEST_PROP(Order, HugeSetsStayInRange, ()) {
  const auto n = *rc::gen::inRange<std::int64_t>(1, (std::int64_t{1} << 62));
  const auto i = *rc::gen::inRange<std::int64_t>(0, n);
  const auto at = permute(any_key(), 0, n, i);
  RC_ASSERT(at >= 0 && at < n);
}

TEST(Order, TheStreamRunsThroughEpochsWithoutDropping) {
  const numerics::Stream s = numerics::stream(7, "data/order");
  const Order order(s, 10);
  std::vector<std::int64_t> drawn;
  for (std::int64_t d = 0; d < 30; ++d) drawn.push_back(order.sample_at(Draw(d)).value);
  std::vector<std::int64_t> expected;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (const std::int64_t i : whole(s.key, epoch, 10)) expected.push_back(i);
  }
  EXPECT_EQ(drawn, expected);
  EXPECT_EQ(order.sample_at(Draw(23)).value, drawn[23]) << "random access";
}

// 24 orders of four samples, 24,000 epochs: each 1000 times, give or take six standard deviations.
TEST(Order, AllOrdersOfFourSamplesAreAboutEquallyFrequent) {
  std::map<std::vector<std::int64_t>, int> seen;
  for (std::uint64_t epoch = 0; epoch < 24000; ++epoch) ++seen[whole({1, 2}, epoch, 4)];
  EXPECT_EQ(seen.size(), 24u);
  for (const auto& [order, count] : seen) {
    EXPECT_GT(count, 1000 - 190);
    EXPECT_LT(count, 1000 + 190);
  }
}

// Where sample 0 of 1000 lands, and what follows what: both spread evenly over ten bins.
TEST(Order, PlacesAndNeighboursAreSpreadEvenly) {
  std::vector<int> place(10), step(10);
  for (std::uint64_t epoch = 0; epoch < 10000; ++epoch) {
    const std::int64_t a = permute({3, 4}, epoch, 1000, 500);
    const std::int64_t b = permute({3, 4}, epoch, 1000, 501);
    ++place[static_cast<std::size_t>(a / 100)];
    ++step[static_cast<std::size_t>((b - a + 1000) % 1000 / 100)];
  }
  for (const auto& bins : {place, step}) {
    for (const int count : bins) {
      EXPECT_GT(count, 1000 - 180);
      EXPECT_LT(count, 1000 + 180);
    }
  }
}

RC_GTEST_PROP(Holdout, HeldOutSamplesAreNeverDrawnAndAllOthersOnceAnEpoch, ()) {
  const std::int64_t n = *rc::gen::inRange<std::int64_t>(1, 300),
                     count = *rc::gen::inRange<std::int64_t>(0, n),
                     epoch = *rc::gen::inRange<std::int64_t>(0, 1000);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const Holdout holdout(numerics::stream(seed, "data/holdout"), n, count);
  const Order order(numerics::stream(seed, "data/order"), holdout);
  std::vector<int> seen(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < count; ++i)
    seen[static_cast<std::size_t>(holdout.held_out(i).value)] += 2;
  for (std::int64_t i = 0; i < holdout.trained(); ++i)
    ++seen[static_cast<std::size_t>(order.sample_at(Draw(epoch * holdout.trained() + i)).value)];
  RC_ASSERT(std::ranges::count(seen, 2) == count);
  RC_ASSERT(std::ranges::count(seen, 1) == n - count);
}

TEST(Holdout, OfNoneLeavesTheOrderAsItIs) {
  const Order plain(numerics::stream(3, "data/order"), 50),
      split(numerics::stream(3, "data/order"), Holdout(numerics::stream(3, "data/holdout"), 50, 0));
  for (std::int64_t d = 0; d < 200; ++d)
    EXPECT_EQ(plain.sample_at(Draw(d)), split.sample_at(Draw(d)));
}

// The numbers come from a second implementation, in Python, written from the header alone.
TEST(Order, VersionOneIsFrozen) {
  EXPECT_EQ(whole(numerics::stream(0, "data/order").key, 0, 12),
            (std::vector<std::int64_t>{4, 11, 9, 8, 1, 7, 2, 6, 0, 10, 5, 3}));
  EXPECT_EQ(permute(numerics::stream(0, "data/order").key, 5, std::int64_t{1} << 40, 123456789),
            517603882076);
}

TEST(Stream, KeyIsTheFirstEightBytesOfTheHashOfSeedAndName) {
  // python: hashlib.sha256(struct.pack("<Q", 1) + b"data/order").digest()[:8]
  EXPECT_EQ(numerics::stream(1, "data/order").key, (numerics::PhiloxKey{0xeeb6e404, 0x079980f6}));
  EXPECT_EQ(numerics::stream(1, "data/order").micro, 0u);
  EXPECT_NE(numerics::stream(2, "data/order").key, numerics::stream(1, "data/order").key);
  EXPECT_NE(numerics::stream(1, "data/other").key, numerics::stream(1, "data/order").key);
}

}  // namespace
}  // namespace lockstep::data
