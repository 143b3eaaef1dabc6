#include "lockstep/recipe/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/recipe/load.h"

namespace lockstep::recipe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Warnings, NameTheStepFromWhichTheLearningRateIsZero) {
  const auto of = [](const std::string& steps, const std::string& schedule) {
    return warnings(parse("[run]\nsteps = " + steps + "\n[model.optimizer]\n" + schedule, "a"));
  };
  const std::string cosine = "schedule = 'cosine'\nhorizon = 60\n";
  EXPECT_THAT(of("61", cosine),
              ElementsAre("[model.optimizer]: the learning rate is 0 from step 60 "
                          "on (horizon), and run.steps is 61"));
  EXPECT_THAT(of("60", cosine), IsEmpty());
  EXPECT_THAT(of("61", ""), IsEmpty());
}

TEST(Warnings, AreOfEachNetwork) {
  const std::string optimizer = ".optimizer]\nschedule = 'cosine'\nhorizon = 10\n";
  EXPECT_EQ(warnings(parse("[objective]\nkind = 'gan'\n[generator" + optimizer + "[discriminator" +
                               optimizer,
                           "a"))
                .size(),
            2U);
}

}  // namespace
}  // namespace lockstep::recipe
