#include <gtest/gtest.h>

#include <functional>

#include "lockstep/core/error.h"
#include "lockstep/objective/ddpm.h"
#include "lockstep/objective/rectified_flow.h"
#include "lockstep/objective/sampler.h"
#include "lockstep/objective/sampler_steps.h"
#include "lockstep/objective/variance_preserving.h"

namespace lockstep::objective {
namespace {

NoiseSchedule schedule_of(std::string_view word, std::int64_t timesteps) {
  Kind<NoiseScheduleKind> kind(noise_schedules());
  kind = word;
  return make_noise_schedule(kind, timesteps);
}

std::vector<SamplerStep> steps_of(const std::string& name, const NoiseSchedule& schedule,
                                  const std::string& prediction, std::int64_t visited) {
  const auto process = make_variance_preserving(schedule, prediction);
  return name == "ddim" ? ddim_steps(*process, visited) : ancestral_steps(*process);
}

// Known values: numpy in double, from the formulas of the papers. Host functions err by 2 ulp, and
// a product of a thousand factors by a thousand roundings: 1e-12 of the value.
void expect_known(double value, double known) {
  EXPECT_NEAR(value / known, 1.0, 1e-12);
}

// What a prediction at t says of x0, noise and velocity, where the prediction is the target itself.
// Coefficients are rounded to binary32.
void expect_fits(const Process& process, Time t, double rounding,
                 const std::function<double(double x0, double e)>& velocity) {
  const double x0 = 0.3, e = -0.7;
  const auto of = [](const LinearCombination& c, double a, double b) {
    return static_cast<double>(c.a) * a + static_cast<double>(c.b) * b;
  };
  const double x = of(process.noising(t), x0, e);
  const double predicted = process.target(t) ? of(*process.target(t), e, x0) : e;
  EXPECT_NEAR(of(process.x0(t), x, predicted), x0, rounding) << t;
  EXPECT_NEAR(of(process.noise(t), x, predicted), e, rounding) << t;
  EXPECT_NEAR(of(process.velocity(t), x, predicted), velocity(x0, e), rounding) << t;
}

TEST(Process, WhatAPredictionOfDdpmSaysFitsTogether) {
  const NoiseSchedule schedule = schedule_of("cosine", 20);
  for (const char* prediction : {"epsilon", "v", "x0"}) {
    const auto process = make_variance_preserving(schedule, prediction);
    for (std::int64_t i = 0; i < schedule.size(); ++i) {
      const auto t = static_cast<Time>(i);
      const auto [signal, noise] = process->noising(t);
      expect_fits(*process, t, 4e-6 / static_cast<double>(signal),
                  [s = static_cast<double>(signal), n = static_cast<double>(noise)](
                      double x0, double e) { return s * e - n * x0; });
    }
    EXPECT_EQ(process->time_input(7), 7.0F);
  }
}

TEST(Process, WhatAPredictionOfAFlowSaysFitsTogether) {
  const auto process = make_rectified_flow();
  for (const Time t : {0.0F, 0.125F, 0.7F, 1.0F})
    expect_fits(*process, t, 1e-6, [](double x0, double e) { return e - x0; });
  EXPECT_EQ(process->time_input(0.25F), 250.0F);
}

TEST(Process, AFlowDrawsTimesBetweenZeroAndOne) {
  const auto process = make_rectified_flow();
  const numerics::Stream stream{.key = {1, 2}, .micro = 0};
  double sum = 0;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    const Time t = process->sample_time(stream, i);
    EXPECT_GE(t, 0.0F);
    EXPECT_LT(t, 1.0F);
    sum += static_cast<double>(t);
  }
  EXPECT_NEAR(sum / 4096, 0.5, 0.02);  // a standard error is 0.0045
}

TEST(Process, WithoutTimestepsIsNotForSamplersThatNeedThem) {
  const auto process = make_rectified_flow();
  for (const auto& steps : {+[](const Process& p) { ddim_steps(p, 1); },
                            +[](const Process& p) { ancestral_steps(p); }}) {
    try {
      steps(*process);
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kBug);
    }
  }
}

TEST(Schedule, LinearHasThePapersValues) {
  const NoiseSchedule s = schedule_of("linear", 1000);
  expect_known(s.beta.front(), 1e-4);
  expect_known(s.beta.back(), 0.02);
  expect_known(s.alpha_bar[0], 0.9999);
  expect_known(s.alpha_bar[499], 0.07858724288177824);
  expect_known(s.alpha_bar[999], 4.035829765375676e-05);
}

TEST(Schedule, CosineHasThePapersValues) {
  const NoiseSchedule s = schedule_of("cosine", 1000);
  expect_known(s.alpha_bar[0], 0.999958715775178);
  expect_known(s.alpha_bar[499], 0.4938435904406382);
  EXPECT_EQ(s.beta.back(), 0.999);
}

TEST(Schedule, FewerTimestepsReachTheSameNoise) {
  const double many = schedule_of("linear", 1000).alpha_bar.back();
  const double few = schedule_of("linear", 100).alpha_bar.back();
  EXPECT_LT(few, many);  // larger steps of the same integral: a little more noise
  EXPECT_GT(few, many / 4);
}

TEST(Sampler, DdimVisitsEvenlyAndEndsAtTheLastTimestepFirst) {
  const NoiseSchedule s = schedule_of("linear", 10);
  std::vector<std::int64_t> visited;
  for (const SamplerStep& step : steps_of("ddim", s, "epsilon", 4)) visited.push_back(step.t);
  EXPECT_EQ(visited, (std::vector<std::int64_t>{9, 6, 4, 1}));
}

TEST(Sampler, AncestralVisitsAllAndDrawsNoNoiseAtTheEnd) {
  const NoiseSchedule s = schedule_of("cosine", 10);
  const auto steps = steps_of("ancestral", s, "v", 3);
  ASSERT_EQ(steps.size(), 10U);
  EXPECT_EQ(steps.front().t, 9);
  EXPECT_GT(steps[8].noise, 0.0F);
  EXPECT_EQ(steps.back().noise, 0.0F);
}

TEST(Sampler, EndsWithThePredictedPictureItself) {
  for (const char* name : {"ancestral", "ddim"}) {
    for (const char* schedule : {"linear", "cosine"}) {
      const SamplerStep last = steps_of(name, schedule_of(schedule, 50), "epsilon", 20).back();
      EXPECT_NEAR(last.next.a, 1.0F, 1e-6F) << name;  // beta / (1 - alpha_bar), rounded
      EXPECT_EQ(last.next.b, 0.0F) << name;
    }
  }
}

TEST(Sampler, WhatDoesNotExistIsAUsageErrorThatNamesTheField) {
  const NoiseSchedule s = schedule_of("linear", 10);
  const auto message = [](const auto& make) {
    try {
      make();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
      return e.message();
    }
    return std::string();
  };
  EXPECT_TRUE(message([&] { schedule_of("square", 10); }).starts_with("schedule:"));
  EXPECT_TRUE(message([&] { schedule_of("linear", 0); }).starts_with("timesteps:"));
  EXPECT_TRUE(message([&] { steps_of("ddim", s, "w", 5); }).starts_with("prediction:"));
  EXPECT_TRUE(message([&] { steps_of("ddim", s, "v", 11); }).starts_with("sampler_steps:"));
}

}  // namespace
}  // namespace lockstep::objective
