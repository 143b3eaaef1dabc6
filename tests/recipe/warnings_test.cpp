#include "lockstep/recipe/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/recipe/load.h"

namespace lockstep::recipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Warnings, NameTheStepFromWhichTheLearningRateIsZero) {
  const auto of = [](const std::string& steps, const std::string& schedule) {
    return warnings(parse("[run]\nsteps = " + steps + "\n[model.optimizer]\n" + schedule, "a"));
  };
  const std::string cosine = "schedule = 'cosine'\nhorizon = 60\n";
  EXPECT_THAT(of("61", cosine),
              ElementsAre("[model.optimizer]: the learning rate is 0 from step 60 "
                          "on: horizon is 60, and run.steps is 61"));
  EXPECT_THAT(of("60", cosine), IsEmpty());
  EXPECT_THAT(of("61", ""), IsEmpty());
  EXPECT_THAT(of("1", "lr = 0.0\n"),
              ElementsAre("[model.optimizer]: the learning rate is 0: no weight changes"));
}

TEST(Warnings, NameARateThatNobodyTrainsBy) {
  const auto of = [](const std::string& optimizer) {
    return warnings(parse("[model.optimizer]\n" + optimizer, "a"));
  };
  EXPECT_THAT(of("lr = 10.0\n"),
              ElementsAre("[model.optimizer]: the learning rate is 10: each step of adamw moves "
                          "every weight by about that much; usual are 1e-4 to 1e-2"));
  EXPECT_EQ(of("kind = 'lion'\nlr = 0.1\n").size(), 1U);
  EXPECT_THAT(of("kind = 'lion'\nlr = 0.01\n"), ElementsAre(HasSubstr("usual are 3e-5 to 3e-4")));
  EXPECT_THAT(of("kind = 'lion'\nlr = 0.009\n"), IsEmpty());
  EXPECT_THAT(of("lr = 0.05\nweight_decay = 20.0\n"),
              ElementsAre("[model.optimizer]: weight_decay times the learning rate is 1: each step "
                          "takes away all of a weight, or turns its sign"));
  EXPECT_THAT(of("lr = 0.05\nweight_decay = 19.0\n"), IsEmpty());
  EXPECT_EQ(of("lr = 0.02\nlr_scaling = 'linear'\nbase_batch = 8\n").size(), 1U);  // 64 / 8
  EXPECT_THAT(of("lr = 0.02\n"), IsEmpty());
  EXPECT_THAT(of("kind = 'sgd'\nlr = 10.0\n"), IsEmpty());
}

std::vector<std::string> of_method(const std::string& more, const std::string& steps = "100") {
  return warnings(parse("[run]\nsteps = " + steps + "\n" + more, "a"));
}

TEST(Warnings, NoiseLevelsThatAreVisitedAreToBeTrained) {
  const std::string edm = "[objective]\nkind = 'edm'\n";
  EXPECT_THAT(of_method(edm), IsEmpty());
  EXPECT_THAT(of_method(edm + "p_std = 0.0\n"),
              ElementsAre(HasSubstr("one noise level is trained")));
  EXPECT_THAT(of_method(edm + "p_std = 0.5\n"),
              ElementsAre(HasSubstr("sigma_min is 0.002: so far from p_mean no noise level is"),
                          HasSubstr("sigma_max is 80: so far")));
  EXPECT_THAT(of_method(edm + "p_std = 0.0\n", "99"), IsEmpty());  // a trial
  const std::string flow = "[objective]\nkind = 'flow'\ntimes = 'logit-normal'\nlogit_std = ";
  EXPECT_THAT(of_method(flow + "0.0\n"), ElementsAre(HasSubstr("one time is trained")));
  EXPECT_THAT(of_method(flow + "0.1\n"), IsEmpty());
}

TEST(Warnings, DeviationsOfFieldsAreNotThoseOfPictures) {
  const std::string edm = "[data]\nkind = 'fields'\npath = 'a.h5'\n[objective]\nkind = 'edm'\n";
  EXPECT_THAT(of_method(edm),
              ElementsAre(HasSubstr("sigma_data is 0.5, the deviation of pictures")));
  EXPECT_THAT(of_method(edm + "sigma_data = 1.0\n"), IsEmpty());
}

TEST(Warnings, PicturesThatAreMovedAreForClassifiers) {
  const std::string crop = "[data]\nclasses = 2\ncrop = 2\n[objective]\nkind = ";
  EXPECT_THAT(of_method(crop + "'ddpm'\n"), ElementsAre(HasSubstr("crop is for classifiers")));
  EXPECT_THAT(of_method(crop + "'classifier'\n[model]\nkind = 'cnn'\n"), IsEmpty());
}

std::string gan_of(const std::string& objective, const std::string& generator,
                   const std::string& discriminator) {
  return "[objective]\n" + objective + "[generator]\n" + generator + "[discriminator]\n" +
         discriminator;
}

TEST(Warnings, GeneratorsThatCannotMakeTheDataAreTold) {
  const std::string sngan = "kind = 'sngan-discriminator'\n";
  for (const std::string kind : {"dcgan-generator", "sngan-generator"}) {
    const std::string generator = "kind = '" + kind + "'\n";
    EXPECT_THAT(of_method(gan_of("kind = 'gan'\n", generator, sngan)),
                ElementsAre(HasSubstr("latent is 2: so few numbers")));
    const std::string wide = gan_of("kind = 'gan'\n", generator + "latent = 4\n", sngan);
    EXPECT_THAT(of_method(wide), IsEmpty());
    EXPECT_THAT(of_method("[data]\nkind = 'fields'\npath = 'a.h5'\n" + wide),
                ElementsAre(HasSubstr("what " + kind + " makes lies within -1 and 1")));
  }
}

TEST(Warnings, ACriticIsBounded) {
  const std::string free = "kind = 'wasserstein-gan'\ngp = 0.0\n", mlp = "kind = 'mlp-generator'\n",
                    critic = "kind = 'sngan-discriminator'\n";
  EXPECT_THAT(of_method(gan_of(free, mlp, critic)), IsEmpty());
  EXPECT_THAT(of_method(gan_of(free, mlp, critic + "norm = 'none'\n")),
              ElementsAre(HasSubstr("nothing bounds its loss")));
  EXPECT_THAT(of_method(gan_of("kind = 'wasserstein-gan'\n", mlp, critic + "norm = 'none'\n")),
              IsEmpty());
}

TEST(Warnings, AnAverageIsJudgedByItsOwnNetworksUpdates) {
  const auto of = [](const std::string& turns) {
    return of_method(gan_of("kind = 'gan'\ndiscriminator_steps = " + turns + "\n",
                            "kind = 'mlp-generator'\n[generator.optimizer]\nema_decay = 0.999\n",
                            "kind = 'mlp-discriminator'\n"),
                     "3000");
  };
  EXPECT_THAT(of("1"), IsEmpty());
  EXPECT_THAT(of("5"), ElementsAre(HasSubstr("after 3000 steps (600 updates) the average")));
}

// A schedule goes on from the parent's count.
Recipe child(const std::string& more) {
  const std::string digest(64, 'a');
  return parse("[run]\nsteps = 61\nstart = 'run'\n[run.from]\nrecipe = '" + digest +
                   "'\nstate = '" + digest + "'\nstep = 40\nupdates = 40\n" + more +
                   "[model.optimizer]\nschedule = 'cosine'\nhorizon = 100\nwarmup = 5\n",
               "a");
}

TEST(Warnings, AFrozenDiscriminatorHasNoAccuracy) {
  const std::string gan =
      "[objective]\nkind = 'gan'\n[generator]\nkind = 'mlp-generator'\n[discriminator]\nkind = "
      "'mlp-discriminator'\nweights = 'frozen'\n";
  EXPECT_THAT(warnings(parse(gan, "a")), IsEmpty());
  EXPECT_THAT(
      warnings(parse(gan + "[monitor]\nevery = 5\nstop_accuracy = 0.9\n", "a")),
      ElementsAre("[monitor]: the discriminator is frozen, so its accuracy is not measured"));
}

TEST(Warnings, AGeneratorThatNeverTrainsIsTold) {
  const auto of = [](const std::string& steps) {
    return warnings(parse("[run]\nsteps = " + steps +
                              "\n[objective]\nkind = 'gan'\ndiscriminator_steps = 5\n"
                              "[generator]\nkind = 'mlp-generator'\n[discriminator]\nkind = "
                              "'mlp-discriminator'\n",
                          "a"));
  };
  EXPECT_THAT(of("5"), IsEmpty());
  EXPECT_THAT(of("4"), ElementsAre("[objective]: the generator trains at step 5 for the first time "
                                   "(discriminator_steps), and run.steps is 4"));
}

TEST(Warnings, ACriticHasNoAccuracy) {
  const std::string gan =
      "[objective]\nkind = 'wasserstein-gan'\n[generator]\nkind = 'mlp-generator'\n"
      "[discriminator]\nkind = 'mlp-discriminator'\n";
  EXPECT_THAT(warnings(parse(gan, "a")), IsEmpty());
  EXPECT_THAT(
      warnings(parse(gan + "[monitor]\nevery = 5\nwarn_accuracy = 0.9\n", "a")),
      ElementsAre("[monitor]: the discriminator of wasserstein-gan gives no verdicts, so its "
                  "accuracy is not measured"));
}

TEST(Warnings, NobodyLooksWithoutAnInterval) {
  const std::string looks =
      "[monitor]: every is 0, so nobody looks at distances and accuracies: set "
      "it, for example to 100 (steps)";
  EXPECT_THAT(warnings(parse("[monitor]\nstop_distance = 0.9\n", "a")), ElementsAre(looks));
  EXPECT_THAT(warnings(parse("[monitor]\nevery = 5\nstop_distance = 0.9\n", "a")), IsEmpty());
  EXPECT_THAT(
      warnings(parse("[monitor]\nstop_accuracy = 0.9\n", "a")),
      ElementsAre("[monitor]: ddpm has no discriminator, so no accuracy is measured", looks));
}

TEST(Warnings, ALabelThatIsAlwaysDroppedIsNotLearnt) {
  const std::string dropped = "[data]\nclasses = 3\n[objective]\nlabel_dropout = ";
  EXPECT_THAT(warnings(parse(dropped + "0.9\n", "a")), IsEmpty());
  EXPECT_THAT(warnings(parse(dropped + "1.0\n", "a")),
              ElementsAre("[objective]: label_dropout is 1, so no sample is trained with its "
                          "class: neither classes nor guidance change anything"));
}

TEST(Warnings, AnEpsilonOfFieldsIsNotClipped) {
  const std::string fields = "[data]\nkind = 'fields'\npath = 'a.h5'\n[objective]\n";
  EXPECT_THAT(warnings(parse(fields, "a")),
              ElementsAre(HasSubstr("take prediction = \"v\" or \"x0\"")));
  for (const std::string prediction : {"v", "x0"})
    EXPECT_THAT(warnings(parse(fields + "prediction = '" + prediction + "'\n", "a")), IsEmpty());
  EXPECT_THAT(warnings(parse(fields + "kind = 'flow'\n", "a")), IsEmpty());
  EXPECT_THAT(warnings(parse("[data]\nkind = 'images'\npath = 'a.h5'\n", "a")), IsEmpty());
}

TEST(Warnings, OfARunWithAParentCountItsUpdates) {
  EXPECT_THAT(
      warnings(child("")),
      ElementsAre(
          "[model.optimizer]: warmup is 5, which counts the 40 updates before this run: it "
          "is over already (run.from.optimizer = \"anew\" counts from 0)",
          "[model.optimizer]: the learning rate is 0 from step 60 on: horizon is 100, which "
          "counts the 40 updates before this run, and run.steps is 61 (run.from.optimizer = "
          "\"anew\" counts from 0)"));
}

TEST(Warnings, OfARunThatBeginsAnewCountItsOwnUpdatesOnly) {
  Recipe recipe = child("optimizer = 'anew'\n");
  EXPECT_THAT(warnings(recipe), IsEmpty());
  recipe.run.steps = 101;
  EXPECT_THAT(warnings(recipe), ElementsAre("[model.optimizer]: the learning rate is 0 from step "
                                            "100 on: horizon is 100, and run.steps is 101"));
}

TEST(Warnings, AWarmUpOfAveragesThatBeginsAnewForgetsTheParents) {
  Recipe recipe = child("optimizer = 'anew'\n");
  recipe.networks.front().optimizer.ema_decay = 0.9;
  EXPECT_THAT(warnings(recipe), IsEmpty());
  recipe.networks.front().optimizer.ema_warmup = true;
  EXPECT_THAT(warnings(recipe), ElementsAre(HasSubstr("nothing of the parent's average is left")));
}

TEST(Warnings, NameWhatIsNeverDoneWithinTheRun) {
  const auto of = [](const std::string& steps, const std::string& more) {
    return warnings(parse("[run]\nsteps = " + steps + "\n" + more, "a"));
  };
  const std::string evaluation =
      "[evaluation]\nevery = 200\nfeatures = 'judge'\n[monitor]\nevery = 201\n";
  EXPECT_THAT(of("199", evaluation),
              ElementsAre("[evaluation]: every is 200, and run.steps is 199: nothing is evaluated",
                          "[monitor]: every is 201, and run.steps is 199: nobody looks at "
                          "distances and accuracies"));
  EXPECT_THAT(of("200", evaluation), ElementsAre(HasSubstr("[monitor]: every is 201")));
  EXPECT_THAT(of("201", evaluation), IsEmpty());
  EXPECT_THAT(of("10", evaluation), IsEmpty());  // a trial
  EXPECT_THAT(of("200", "validate_every = 300\n[data]\nholdout = 100\n"),
              ElementsAre(HasSubstr("[run]: validate_every is 300")));
  EXPECT_THAT(of("200", "[monitor]\nlayers_every = 300\n"),
              ElementsAre(HasSubstr("[monitor]: layers_every is 300")));
  EXPECT_THAT(of("200", "[monitor]\nspike_window = 300\n"), IsEmpty());  // nobody asked
  for (const std::string spike : {"warn_spike", "stop_spike"}) {
    EXPECT_THAT(of("200", "[monitor]\nspike_window = 200\n" + spike + " = 20.0\n"),
                ElementsAre(HasSubstr("[monitor]: spike_window is 200, and run.steps is 200: no "
                                      "step is judged")));
    EXPECT_THAT(of("201", "[monitor]\nspike_window = 200\n" + spike + " = 20.0\n"), IsEmpty());
  }
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
