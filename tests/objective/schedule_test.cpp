#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/objective/sampler_steps.h"

namespace lockstep::objective {
namespace {

std::vector<SamplerStep> steps_of(const std::string& name, const Schedule& schedule,
                                  const std::string& prediction, std::int64_t visited) {
  return sampler_steps(name, schedule, *make_process(schedule, prediction), visited);
}

// Known values: numpy in double, from the formulas of the papers. Host functions err by 2 ulp, and
// a product of a thousand factors by a thousand roundings: 1e-12 of the value.
void expect_known(double value, double known) {
  EXPECT_NEAR(value / known, 1.0, 1e-12);
}

TEST(Schedule, LinearHasThePapersValues) {
  const Schedule s = make_schedule("linear", 1000);
  expect_known(s.beta.front(), 1e-4);
  expect_known(s.beta.back(), 0.02);
  expect_known(s.alpha_bar[0], 0.9999);
  expect_known(s.alpha_bar[499], 0.07858724288177824);
  expect_known(s.alpha_bar[999], 4.035829765375676e-05);
}

TEST(Schedule, CosineHasThePapersValues) {
  const Schedule s = make_schedule("cosine", 1000);
  expect_known(s.alpha_bar[0], 0.999958715775178);
  expect_known(s.alpha_bar[499], 0.4938435904406382);
  EXPECT_EQ(s.beta.back(), 0.999);
}

TEST(Schedule, FewerTimestepsReachTheSameNoise) {
  const double many = make_schedule("linear", 1000).alpha_bar.back();
  const double few = make_schedule("linear", 100).alpha_bar.back();
  EXPECT_LT(few, many);  // larger steps of the same integral: a little more noise
  EXPECT_GT(few, many / 4);
}

TEST(Sampler, DdimVisitsEvenlyAndEndsAtTheLastTimestepFirst) {
  const Schedule s = make_schedule("linear", 10);
  std::vector<std::int64_t> visited;
  for (const SamplerStep& step : steps_of("ddim", s, "epsilon", 4)) visited.push_back(step.t);
  EXPECT_EQ(visited, (std::vector<std::int64_t>{9, 6, 4, 1}));
}

TEST(Sampler, AncestralVisitsAllAndDrawsNoNoiseAtTheEnd) {
  const Schedule s = make_schedule("cosine", 10);
  const auto steps = steps_of("ancestral", s, "v", 3);
  ASSERT_EQ(steps.size(), 10U);
  EXPECT_EQ(steps.front().t, 9);
  EXPECT_GT(steps[8].noise, 0.0F);
  EXPECT_EQ(steps.back().noise, 0.0F);
}

TEST(Sampler, EndsWithThePredictedPictureItself) {
  for (const char* name : {"ancestral", "ddim"}) {
    for (const char* schedule : {"linear", "cosine"}) {
      const SamplerStep last = steps_of(name, make_schedule(schedule, 50), "epsilon", 20).back();
      EXPECT_NEAR(last.next.of_first, 1.0F, 1e-6F) << name;  // beta / (1 - alpha_bar), rounded
      EXPECT_EQ(last.next.of_second, 0.0F) << name;
    }
  }
}

TEST(Sampler, WhatDoesNotExistIsAUsageErrorThatNamesTheField) {
  const Schedule s = make_schedule("linear", 10);
  const auto message = [](const auto& make) {
    try {
      make();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
      return e.message();
    }
    return std::string();
  };
  EXPECT_TRUE(message([&] { make_schedule("square", 10); }).starts_with("schedule:"));
  EXPECT_TRUE(message([&] { make_schedule("linear", 0); }).starts_with("timesteps:"));
  EXPECT_TRUE(message([&] { steps_of("heun", s, "v", 5); }).starts_with("sampler:"));
  EXPECT_TRUE(message([&] { steps_of("ddim", s, "v", 11); }).starts_with("sampler_steps:"));
}

}  // namespace
}  // namespace lockstep::objective
