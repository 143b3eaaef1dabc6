#include "lockstep/optim/learning_rate.h"

#include <gtest/gtest.h>

#include <limits>

#include "lockstep/core/error.h"
#include "lockstep/optim/schedules.h"

namespace lockstep::optim {
namespace {

LearningRate ending(const char* schedule, std::int64_t warmup, std::int64_t horizon) {
  LearningRate o;
  o.lr = 0.5;
  o.schedule = schedule;
  o.warmup = warmup;
  o.schedule.as<HorizonOptions>().horizon = horizon;
  return o;
}
LearningRate cosine(std::int64_t warmup, std::int64_t horizon) {
  return ending("cosine", warmup, horizon);
}
LearningRate linear(std::int64_t warmup, std::int64_t horizon) {
  return ending("linear", warmup, horizon);
}

LearningRate falling(const char* schedule, std::int64_t warmup, std::int64_t interval,
                     double factor) {
  LearningRate o;
  o.lr = 0.5;
  o.schedule = schedule;
  o.warmup = warmup;
  o.schedule.as<IntervalOptions>().interval = interval;
  o.schedule.as<IntervalOptions>().factor = factor;
  return o;
}

// Known values of the host functions are good to 2 ulp of numbers near one.
constexpr double kUlps = 4 * std::numeric_limits<double>::epsilon();

TEST(LearningRate, WarmsUpLinearlyFromZeroToThePeak) {
  LearningRate o;
  o.lr = 0.5;
  o.warmup = 4;
  EXPECT_EQ(learning_rate(o, 1), 0.125);
  EXPECT_EQ(learning_rate(o, 3), 0.375);
  EXPECT_EQ(learning_rate(o, 4), 0.5);
  EXPECT_EQ(learning_rate(o, 1000), 0.5);
}

TEST(LearningRate, CosineFallsFromThePeakThroughHalfToZero) {
  const LearningRate o = cosine(10, 110);
  EXPECT_EQ(learning_rate(o, 10), 0.5);
  EXPECT_NEAR(learning_rate(o, 35), 0.5 * (0.5 + 0.25 * 1.4142135623730951), kUlps);
  EXPECT_NEAR(learning_rate(o, 60), 0.25, kUlps);
  EXPECT_NEAR(learning_rate(o, 110), 0.0, kUlps);
}

TEST(LearningRate, LinearFallsInALineFromThePeakToZero) {
  const LearningRate o = linear(10, 74);  // 64 steps: exact
  EXPECT_EQ(learning_rate(o, 5), 0.25);
  EXPECT_EQ(learning_rate(o, 10), 0.5);
  EXPECT_EQ(learning_rate(o, 26), 0.375);
  EXPECT_EQ(learning_rate(o, 42), 0.25);
  EXPECT_EQ(learning_rate(o, 74), 0.0);
  EXPECT_EQ(learning_rate(o, 1000), 0.0);
}

TEST(LearningRate, StepFallsByTheFactorAfterEveryInterval) {
  const LearningRate o = falling("step", 10, 30, 0.25);
  EXPECT_EQ(learning_rate(o, 5), 0.25);
  EXPECT_EQ(learning_rate(o, 10), 0.5);
  EXPECT_EQ(learning_rate(o, 39), 0.5);
  EXPECT_NEAR(learning_rate(o, 40), 0.125, kUlps);
  EXPECT_EQ(learning_rate(o, 69), learning_rate(o, 40));
  EXPECT_NEAR(learning_rate(o, 70), 0.03125, kUlps);
  EXPECT_EQ(learning_rate(o, std::int64_t{1} << 40), 0.0);
}

TEST(LearningRate, ExponentialFallsByTheFactorInEveryInterval) {
  const LearningRate o = falling("exponential", 10, 30, 0.25);
  EXPECT_EQ(learning_rate(o, 10), 0.5);
  EXPECT_NEAR(learning_rate(o, 25), 0.25, kUlps);
  EXPECT_NEAR(learning_rate(o, 40), 0.125, kUlps);
  EXPECT_NEAR(learning_rate(o, 55), 0.0625, kUlps);
}

TEST(LearningRate, IsScaledByTheRecipesBatch) {
  LearningRate o;
  o.lr = 0.5;
  EXPECT_EQ(peak(o, 1024), 0.5);
  o.base_batch = 256;
  o.lr_scaling = "linear";
  EXPECT_EQ(peak(o, 1024), 2.0);
  EXPECT_EQ(peak(o, 64), 0.125);
  o.lr_scaling = "sqrt";
  EXPECT_EQ(peak(o, 1024), 1.0);
  EXPECT_EQ(peak(o, 64), 0.25);
}

TEST(LearningRate, AScalingThatCannotBeComputedIsAUsageError) {
  LearningRate o;
  o.lr_scaling = "linear";
  EXPECT_THROW(peak(o, 8), Error);  // of no batch
  o.base_batch = 8;
  o.lr_scaling = "cubic";
  EXPECT_THROW(peak(o, 8), Error);
}

TEST(LearningRate, StaysAtZeroBehindTheHorizon) {
  const LearningRate o = cosine(0, 50);
  EXPECT_EQ(learning_rate(o, 51), learning_rate(o, 50));
  EXPECT_EQ(learning_rate(o, 100000), learning_rate(o, 50));
}

TEST(LearningRate, AScheduleWithoutAnEndIsAUsageErrorThatNamesTheField) {
  for (const auto& [warmup, horizon] : {std::pair{0, 0}, std::pair{100, 100}}) {
    for (const LearningRate& o : {cosine(warmup, horizon), linear(warmup, horizon)}) {
      try {
        learning_rate(o, 1);
        FAIL();
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Code::kUsage);
        EXPECT_NE(e.message().find("horizon"), std::string::npos) << e.message();
        EXPECT_NE(e.hint().find(o.schedule.word()), std::string::npos) << e.hint();
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::optim
