#include "lockstep/data/batch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>

#include "lockstep/data/images.h"
#include "lockstep/data/prefetch.h"
#include "lockstep/numerics/stream.h"
#include "support.h"

namespace lockstep::data {
namespace {

constexpr ImageShape kShape{37, 2, 3, 1};

const Images& images() {
  static const Images it(kShape, some_pixels(kShape));
  return it;
}

Order order() {
  return Order(numerics::stream(3, "data/order"), kShape.n);
}

TEST(Batch, IsTheSamplesOfItsDrawsAcrossAnEpochsEnd) {
  const Batch batch = assemble(images(), order(), Draw(30), 15);
  EXPECT_EQ(batch.first, Draw(30));
  EXPECT_EQ(batch.count, 15);
  ASSERT_EQ(batch.values.size(), 15u * 6);
  for (std::int64_t i = 0; i < 15; ++i) {
    std::vector<float> sample(6);
    images().read(order().sample_at(Draw(30 + i)), sample.data());
    EXPECT_EQ(std::vector<float>(batch.values.begin() + i * 6, batch.values.begin() + i * 6 + 6),
              sample);
  }
}

RC_GTEST_PROP(Batch, PartsOfRanksMakeTheWholeBatch, ()) {
  const auto first = *rc::gen::inRange<std::int64_t>(0, 1000);
  const auto count = *rc::gen::inRange<std::int64_t>(1, 60);
  const auto cut = *rc::gen::inRange<std::int64_t>(0, count + 1);
  auto left = assemble(images(), order(), Draw(first), cut).values;
  const auto right = assemble(images(), order(), Draw(first + cut), count - cut).values;
  left.insert(left.end(), right.begin(), right.end());
  RC_ASSERT(left == assemble(images(), order(), Draw(first), count).values);
}

using Batches = Prefetch<Batch>;

Batches::Make batches_of(const Dataset& data, std::int64_t count) {
  return [&data, count](Draw first) { return assemble(data, order(), first, count); };
}

RC_GTEST_PROP(Prefetch, GivesTheBatchThatWasAskedForWhateverItGuessed, ()) {
  Batches prefetch(batches_of(images(), 5), 20);
  std::int64_t first = 0;
  for (int step = 0; step < 20; ++step) {
    first = *rc::gen::weightedOneOf<std::int64_t>(
        {{4, rc::gen::just(first + 20)}, {1, rc::gen::inRange<std::int64_t>(0, 500)}});
    const Batch batch = prefetch.take(Draw(first));
    RC_ASSERT(batch.first == Draw(first));
    RC_ASSERT(batch.values == assemble(images(), order(), Draw(first), 5).values);
  }
}

// A disk that fails for a while: every read throws while `failing`.
class FailingDataset : public Dataset {
 public:
  std::int64_t size() const override { return images().size(); }
  const std::vector<std::int64_t>& sample_shape() const override { return images().sample_shape(); }
  const hash::Digest& hash() const override { return images().hash(); }
  void read(Sample sample, float* out) const override {
    ++reads;
    if (failing) throw Error(Code::kData, "the disk is gone");
    images().read(sample, out);
  }
  mutable std::atomic<int> reads{0};
  std::atomic<bool> failing{false};
};

TEST(Prefetch, AnErrorOfTheThreadReachesTheCallerAndThePrefetchLivesOn) {
  FailingDataset data;
  data.failing = true;
  Batches prefetch(batches_of(data, 4), 4);
  for (int again = 0; again < 3; ++again) {
    EXPECT_NE(error_line(Code::kData, [&] { prefetch.take(Draw(0)); }).find("gone"),
              std::string::npos);
  }
  data.failing = false;
  EXPECT_EQ(prefetch.take(Draw(0)).values, assemble(images(), order(), Draw(0), 4).values);
}

TEST(Prefetch, AnErrorInAWrongGuessIsNobodysBusiness) {
  FailingDataset data;
  Batches prefetch(batches_of(data, 4), 4);
  prefetch.take(Draw(0));
  data.failing = true;
  while (data.reads < 5) std::this_thread::yield();  // it is reading the guess, or has failed
  data.failing = false;
  EXPECT_EQ(prefetch.take(Draw(100)).values, assemble(images(), order(), Draw(100), 4).values);
}

TEST(Prefetch, TheNextBatchIsAssembledWithoutBeingAskedFor) {
  FailingDataset data;
  Batches prefetch(batches_of(data, 4), 8);
  prefetch.take(Draw(0));
  while (data.reads < 8) std::this_thread::yield();
  EXPECT_EQ(prefetch.take(Draw(8)).values, assemble(images(), order(), Draw(8), 4).values);
}

TEST(Prefetch, GoesAwayAtAnyMoment) {
  for (int i = 0; i < 200; ++i) {
    Batches prefetch(batches_of(images(), 8), 8);
    if (i % 3 != 0) prefetch.take(Draw(i));
  }
}

}  // namespace
}  // namespace lockstep::data
