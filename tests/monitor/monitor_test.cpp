#include "lockstep/monitor/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "lockstep/core/error.h"

namespace lockstep::monitor {
namespace {

using ::testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(PairwiseDistance, IsTheMeanOverPairsOfRootMeanSquareDifferences) {
  const std::vector<float> samples = {0, 0, 0, 0, 3, 3, 3, 3, 0, 0, 8, 0};
  // (0,1): 3. (0,2): sqrt(64/4) = 4. (1,2): sqrt((9 + 9 + 25 + 9)/4) = sqrt(13).
  EXPECT_NEAR(pairwise_distance(samples, 3), (3 + 4 + 3.605551F) / 3, 1e-6F);
  EXPECT_EQ(pairwise_distance(std::span(samples).first(8), 2), 3.0F);
}

TEST(PairwiseDistance, IsZeroForAConstantAndForNothingElse) {
  std::vector<float> samples(60, 0.7F);
  EXPECT_EQ(pairwise_distance(samples, 5), 0.0F);
  samples[59] += 1e-3F;
  EXPECT_GT(pairwise_distance(samples, 5), 0.0F);
  EXPECT_THROW(pairwise_distance(samples, 7), Error);
  EXPECT_THROW(pairwise_distance(samples, 1), Error);
}

TEST(Monitor, LooksEverySoManyStepsAndNeverUnlessAsked) {
  EXPECT_FALSE(Monitor(Options{}).due(Step(500)));
  Options options;
  options.every = 5;
  EXPECT_FALSE(Monitor(options).due(Step(4)));
  EXPECT_TRUE(Monitor(options).due(Step(10)));
}

Report looked_at(const Options& options, const std::vector<float>& samples, std::int64_t right,
                 std::int64_t judged) {
  return Monitor(options).observe({.step = Step(7),
                                   .losses = {},
                                   .samples = samples,
                                   .counts = {{"judged", judged}, {"judged rightly", right}}});
}

TEST(Monitor, CollapseWarnsAndStopsBelowItsLimits) {
  Options options;
  options.samples = 2;
  options.warn_distance = 0.5;
  options.stop_distance = 0.25;
  const auto at_distance = [&](float distance) { return looked_at(options, {0, distance}, 0, 0); };
  EXPECT_EQ(at_distance(0.5F).verdict, Verdict::kFine);
  EXPECT_THAT(at_distance(0.5F).values, ElementsAre(std::pair("sample_distance", 0.5F)));
  EXPECT_EQ(at_distance(0.375F).verdict, Verdict::kWarn);
  EXPECT_THAT(at_distance(0.375F).lines,
              ElementsAre("step 7: collapse: the mean distance of samples is 0.375, below "
                          "warn_distance = 0.5"));
  EXPECT_EQ(at_distance(0.25F).verdict, Verdict::kWarn);
  EXPECT_EQ(at_distance(0.0F).verdict, Verdict::kStop);
  EXPECT_THAT(at_distance(0.0F).lines,
              ElementsAre("step 7: collapse: the mean distance of samples is 0, below "
                          "stop_distance = 0.25"));
  options.warn_distance = options.stop_distance = 0;
  EXPECT_EQ(at_distance(0.0F).verdict, Verdict::kFine);
}

TEST(Monitor, AClassifiersAccuracyIsMeasured) {
  const Report report =
      Monitor(Options{}).observe({.step = Step(7),
                                  .losses = {},
                                  .samples = {},
                                  .counts = {{"classified", 8}, {"classified rightly", 6}}});
  EXPECT_EQ(report.verdict, Verdict::kFine);
  EXPECT_THAT(report.values, ElementsAre(std::pair("accuracy", 0.75F)));
}

TEST(Monitor, TheDiscriminatorsAccuracyWarnsAndStopsAboveItsLimits) {
  Options options;
  options.warn_accuracy = 0.75;
  options.stop_accuracy = 0.9;
  const auto of_eight = [&](std::int64_t right) { return looked_at(options, {}, right, 8); };
  EXPECT_EQ(of_eight(6).verdict, Verdict::kFine);
  EXPECT_THAT(of_eight(6).values, ElementsAre(std::pair("discriminator_accuracy", 0.75F)));
  EXPECT_EQ(of_eight(7).verdict, Verdict::kWarn);
  EXPECT_EQ(of_eight(8).verdict, Verdict::kStop);
  EXPECT_THAT(of_eight(8).lines,
              ElementsAre("step 7: discriminator: its accuracy is 1, above stop_accuracy = 0.9"));
  EXPECT_TRUE(looked_at(options, {}, 0, 0).values.empty());
  EXPECT_EQ(looked_at({}, {}, 8, 8).verdict, Verdict::kFine);  // 1: never
}

Report after_losses(const Options& options, const std::vector<float>& losses) {
  Monitor monitor(options);
  Report report;
  std::int64_t step = 0;
  for (const float loss : losses) {
    const std::vector<std::pair<std::string, float>> named = {{"generator", 0.5F},
                                                              {"discriminator", loss}};
    EXPECT_NE(report.verdict, Verdict::kStop);
    report = monitor.observe({.step = Step(++step), .losses = named, .samples = {}});
  }
  return report;
}

TEST(Monitor, DivergenceStopsAfterSoManyStepsInARow) {
  Options options;
  options.loss_limit = 2;
  options.loss_steps = 3;
  EXPECT_EQ(after_losses(options, {2, -2}).verdict, Verdict::kFine);
  EXPECT_EQ(after_losses(options, {3, 3}).verdict, Verdict::kWarn);
  const Report stopped = after_losses(options, {1, 3, -3, kInfinity});
  EXPECT_EQ(stopped.verdict, Verdict::kStop);
  EXPECT_THAT(stopped.lines,
              ElementsAre("step 4: divergence: the loss of the discriminator is not finite, beyond "
                          "loss_limit = 2 for 3 of 3 steps"));
  EXPECT_EQ(after_losses(options, {3, 3, 1, 3, 3}).verdict, Verdict::kWarn);
}

// A network that rests in most steps diverges and spikes all the same.
TEST(Monitor, StepsInWhichANetworkRestsAreNotCounted) {
  for (const bool spike : {false, true}) {
    Options options;
    if (spike) {
      options.spike_window = 8;
      options.stop_spike = 5;
      options.spike_steps = 3;
    } else {
      options.loss_limit = 100;
      options.loss_steps = 3;
    }
    Monitor monitor(options);
    using Losses = std::vector<std::pair<std::string, float>>;
    const auto verdict = [&](std::int64_t step, const Losses& losses) {
      return monitor.observe({.step = Step(step), .losses = losses, .samples = {}}).verdict;
    };
    std::int64_t step = 0;
    const auto two = [&](float discriminator, float generator) {
      EXPECT_EQ(verdict(++step, {{"discriminator", discriminator}}), Verdict::kFine);
      return verdict(++step, {{"discriminator", discriminator}, {"generator", generator}});
    };
    for (int i = 0; i < 12; ++i)
      EXPECT_EQ(two(static_cast<float>(i % 3), static_cast<float>(i % 4)), Verdict::kFine);
    EXPECT_EQ(two(1, 1000), Verdict::kWarn);
    EXPECT_EQ(two(1, 1000), Verdict::kWarn);
    EXPECT_EQ(two(1, 1000), Verdict::kStop);
  }
}

TEST(Monitor, WithoutALimitALossThatIsNotFiniteWarns) {
  EXPECT_EQ(after_losses({}, {1e30F}).verdict, Verdict::kFine);
  for (const float loss : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()})
    EXPECT_EQ(after_losses({}, {loss}).verdict, Verdict::kWarn);
}

// Losses 1, 2, 3 again and again: their median is 2, the median absolute deviation 1.
std::vector<float> steady(std::size_t count) {
  std::vector<float> losses;
  for (std::size_t i = 0; i < count; ++i) losses.push_back(static_cast<float>(1 + i % 3));
  return losses;
}

Options spikes(double warn, double stop, std::int64_t steps = 1) {
  Options options;
  options.spike_window = 9;
  options.warn_spike = warn;
  options.stop_spike = stop;
  options.spike_steps = steps;
  return options;
}

Report after_spikes(const Options& options, std::size_t before, std::vector<float> then) {
  std::vector<float> losses = steady(before);
  losses.insert(losses.end(), then.begin(), then.end());
  return after_losses(options, losses);
}

TEST(Spike, IsJudgedInRobustDeviationsAboveTheMedian) {
  // (x - 2) / 1.4826 is 5 at 9.413
  EXPECT_EQ(after_spikes(spikes(5, 0), 9, {9.4F}).verdict, Verdict::kFine);
  EXPECT_EQ(after_spikes(spikes(5, 0), 9, {-20.0F}).verdict, Verdict::kFine);  // below is no spike
  const Report warned = after_spikes(spikes(5, 0), 9, {9.5F});
  EXPECT_EQ(warned.verdict, Verdict::kWarn);
  EXPECT_THAT(
      warned.lines,
      ElementsAre("step 10: spike: the loss of the discriminator is 9.5, 5.1 robust "
                  "standard deviations above the median of 9 steps, beyond warn_spike = 5"));
}

TEST(Spike, NeedsAWholeWindowAndIsOffUnlessAsked) {
  EXPECT_EQ(after_spikes(spikes(5, 0), 8, {1e6F}).verdict, Verdict::kFine);
  EXPECT_EQ(after_spikes(spikes(0, 0), 9, {1e6F}).verdict, Verdict::kFine);
  EXPECT_EQ(after_losses(spikes(5, 0), std::vector<float>(20, 1.0F)).verdict, Verdict::kFine);
}

TEST(Spike, OutliersOfTheWindowHideNoOther) {
  EXPECT_EQ(after_spikes(spikes(5, 0), 9, {1e6F, 1e6F, 1e6F, 20.0F}).verdict, Verdict::kWarn);
}

TEST(Spike, StopsAfterSoManyStepsInARow) {
  EXPECT_EQ(after_spikes(spikes(0, 5, 2), 9, {50.0F}).verdict, Verdict::kWarn);
  EXPECT_EQ(after_spikes(spikes(0, 5, 2), 9, {50.0F, 2.0F, 50.0F}).verdict, Verdict::kWarn);
  const Report stopped = after_spikes(spikes(0, 5, 2), 9, {50.0F, 50.0F});
  EXPECT_EQ(stopped.verdict, Verdict::kStop);
  EXPECT_THAT(stopped.lines,
              ElementsAre(::testing::EndsWith("beyond stop_spike = 5 for 2 of 2 steps")));
}

TEST(Spike, GradientNormsAreWatchedToo) {
  Monitor monitor(spikes(5, 0));
  Report report;
  for (std::int64_t step = 1; step <= 10; ++step) {
    const std::vector<std::pair<std::string, float>> norms = {
        {"denoise", step == 10 ? 100.0F : static_cast<float>(step % 3)}};
    report =
        monitor.observe({.step = Step(step), .losses = {}, .gradient_norms = norms, .samples = {}});
  }
  EXPECT_EQ(report.verdict, Verdict::kWarn);
  EXPECT_THAT(report.lines,
              ElementsAre(::testing::HasSubstr("gradient norm of the denoise is 100")));
}

// Looks at one tensor, by these norms of its gradient; its own norm is 1.
std::vector<std::string> looked_at_layer(const Options& options, const std::vector<float>& norms) {
  Monitor monitor(options);
  std::vector<std::string> lines;
  Step step;
  for (const float norm : norms) {
    const std::vector<Layer> layers = {{"model/param/in.weight", 1.0F, norm}};
    const Report report =
        monitor.observe({.step = ++step, .losses = {}, .samples = {}, .layers = layers});
    EXPECT_NE(report.verdict, Verdict::kStop);
    EXPECT_EQ(report.layers.size(), 1U);
    lines.insert(lines.end(), report.lines.begin(), report.lines.end());
  }
  return lines;
}

TEST(Layers, AreLookedAtEverySoManyStepsAndNeverUnlessAsked) {
  EXPECT_FALSE(Monitor(Options{}).layers_due(Step(500)));
  Options options;
  options.layers_every = 5;
  EXPECT_FALSE(Monitor(options).layers_due(Step(4)));
  EXPECT_TRUE(Monitor(options).layers_due(Step(10)));
}

TEST(Layers, AreDeadAfterSoManyChecksInARowWithoutAGradientAndThatIsSaidOnce) {
  EXPECT_TRUE(looked_at_layer({}, {0, 0, 1, 0, 0, 1}).empty());
  EXPECT_THAT(
      looked_at_layer({}, {1, 0, 0, 0, 0, 0}),
      ElementsAre("step 4: layers: model/param/in.weight: its gradient is 0 in 3 checks in a "
                  "row"));
  Options options;
  options.layers_dead = 1;
  EXPECT_EQ(looked_at_layer(options, {0, 1, 0}).size(), 2U);
}

TEST(Layers, ExplodeBeyondSoManyTimesTheMedianOfTheLooksBefore) {
  Options options;
  options.layers_growth = 10;
  EXPECT_TRUE(looked_at_layer(options, {1, 1, 1, 11}).empty());  // too few checks before
  EXPECT_TRUE(looked_at_layer(options, {1, 1, 1, 1, 10}).empty());
  EXPECT_THAT(looked_at_layer(options, {1, 2, 2, 9, 30}),
              ElementsAre("step 5: layers: model/param/in.weight: the norm of its gradient is 30, "
                          "15.0 times the median of the checks before, beyond layers_growth = 10"));
  options.layers_growth = 0;
  EXPECT_TRUE(looked_at_layer(options, {1, 1, 1, 1, 1e30F}).empty());
}

TEST(Layers, ThatAreASmallPartOfTheirNetworkDoNotExplode) {
  Monitor monitor(Options{});
  for (Step step(1); step.value <= 6; ++step) {
    const bool last = step.value == 6;
    const std::vector<Layer> layers = {{"model/param/a", 1.0F, last ? 1.0F : 1e-4F},
                                       {"model/param/b", 1.0F, 11.0F},
                                       {"other/param/a", 1.0F, last ? 1.0F : 1e-4F}};
    const auto lines =
        monitor.observe({.step = step, .losses = {}, .samples = {}, .layers = layers}).lines;
    if (!last)
      EXPECT_TRUE(lines.empty());
    else
      EXPECT_THAT(lines, ElementsAre(::testing::HasSubstr("other/param/a")));
  }
}

TEST(Layers, ThatAreNotFiniteAreSaidSo) {
  EXPECT_THAT(looked_at_layer({}, {1, kInfinity}),
              ElementsAre("step 2: layers: model/param/in.weight: the norm of its gradient is not "
                          "finite"));
  EXPECT_EQ(looked_at_layer({}, {std::numeric_limits<float>::quiet_NaN()}).size(), 1U);
}

// What monitors with these options say of an operation with these root mean squares.
std::vector<std::string> looked_at_operation(const Options& options,
                                             const std::vector<float>& sizes) {
  Monitor monitor(options);
  std::vector<std::string> lines;
  Step step(0);
  for (const float size : sizes) {
    const std::vector<std::pair<std::string, float>> activations = {
        {"model/in/leaky_relu", size}, {"model/out/linear", 20.0F}, {"other/in/linear", 1e6F}};
    const Report report =
        monitor.observe({.step = ++step, .losses = {}, .samples = {}, .activations = activations});
    EXPECT_NE(report.verdict, Verdict::kStop);
    EXPECT_EQ(report.activations, activations);
    lines.insert(lines.end(), report.lines.begin(), report.lines.end());
  }
  return lines;
}

TEST(Activations, OfADeadReluAreSaidOnceAfterSoManyChecksInARow) {
  EXPECT_TRUE(looked_at_operation({}, {0, 0, 1, 0, 0, 1}).empty());
  EXPECT_THAT(looked_at_operation({}, {1, 0, 0, 0, 0, 0}),
              ElementsAre("step 4: layers: model/in/leaky_relu: its activations are all 0 in 3 "
                          "checks in a row"));
  Options options;
  options.layers_dead = 1;
  EXPECT_EQ(looked_at_operation(options, {0, 1, 0}).size(), 2U);
}

TEST(Activations, ExplodeLikeNormsUnlessTheyAreSmallInTheirNetwork) {
  Options options;
  options.layers_growth = 10;
  EXPECT_TRUE(looked_at_operation(options, {1, 1, 1, 30}).empty());  // too few checks before
  EXPECT_THAT(looked_at_operation(options, {1, 2, 2, 9, 30}),
              ElementsAre("step 5: layers: model/in/leaky_relu: the root mean square of its "
                          "activations is 30, 15.0 times the median of the checks before, beyond "
                          "layers_growth = 10"));
  EXPECT_TRUE(looked_at_operation(options, {0.1F, 0.1F, 0.1F, 0.1F, 1.9F}).empty());
  EXPECT_EQ(looked_at_operation(options, {0.1F, 0.1F, 0.1F, 0.1F, 2.1F}).size(), 1U);
  EXPECT_THAT(looked_at_operation(options, {1, kInfinity}),
              ElementsAre("step 2: layers: model/in/leaky_relu: the root mean square of its "
                          "activations is not finite"));
}

TEST(Balance, WarnsOfClassesWithoutSamplesAndOfFarFewerThanOthers) {
  const auto said = [](const std::vector<std::int64_t>& counts, double factor) {
    Options options;
    options.warn_imbalance = factor;
    return imbalance(options, counts);
  };
  EXPECT_TRUE(said({10, 1, 5}, 10).empty());
  EXPECT_TRUE(said({1000, 1, 0}, 0).empty());
  EXPECT_TRUE(said({}, 10).empty());
  EXPECT_THAT(
      said({10, 21, 2}, 10),
      ElementsAre("balance: class 1 has 21 samples, class 2 has 2: 10.5 times as many, beyond "
                  "warn_imbalance = 10"));
  EXPECT_THAT(said({3, 0, 2}, 10),
              ElementsAre("balance: class 1 of 3 has no samples: nothing can be learnt of it "
                          "(labels begin with 0)"));
  EXPECT_THAT(said({0, 0, 2}, 10),
              ElementsAre("balance: classes 0, 1 of 3 have no samples: nothing can be learnt of "
                          "them (labels begin with 0)"));
}

}  // namespace
}  // namespace lockstep::monitor
