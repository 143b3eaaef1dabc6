#include "lockstep/objective/gan.h"

#include "lockstep/core/error.h"
#include "lockstep/objective/wasserstein_gan.h"
#include "objective/differences.h"

namespace lockstep::objective {
namespace {

using namespace testing;  // NOLINT

constexpr int kDiscriminator = 0, kGenerator = 1;

Case gan(double r1) {
  Case c;
  c.options.kind = "gan";
  c.options.kind.as<GanOptions>().r1 = r1;
  for (const char* kind : {"mlp-generator", "mlp-discriminator"})
    c.networks.push_back(mlp(kind, /*hidden=*/8, /*layers=*/2, /*latent=*/2));
  c.shape = {2};
  c.samples_per_lane = 3;
  return c;
}

// Two levels on pictures with an odd side.
Case convolutional(const std::string& family, const std::string& kind) {
  Case c = gan(0);
  c.options.kind = kind;
  for (std::size_t i = 0; i < 2; ++i) {
    c.networks[i] = lockstep::testing::convolutional(
        family + (i == 0 ? "-generator" : "-discriminator"), {4, 6}, /*latent=*/5);
  }
  c.shape = {9, 8, 2};
  return c;
}

std::vector<Case> convolutionals() {
  return {convolutional("dcgan", "gan"), convolutional("sngan", "hinge-gan")};
}

// Leaky ReLU has kinks: a small step crosses few, and each costs in proportion to the step.
constexpr double kStep = 2e-3, kKinks = 0.01;

TEST(Gan, DiscriminatorGradientsAgreeWithFiniteDifferences) {
  expect_gradients_agree_with_differences(gan(0), kDiscriminator, kStep, kKinks);
}

// The penalty's weight is large, so that gradients of gradients make up most of what is compared.
TEST(Gan, GradientsThroughR1AgreeWithFiniteDifferences) {
  expect_gradients_agree_with_differences(gan(20), kDiscriminator, kStep, kKinks);
}

Case wasserstein(double gp) {
  Case c = gan(0);
  c.options.kind = "wasserstein-gan";
  c.options.kind.as<WassersteinGanOptions>().gp = gp;
  return c;
}

TEST(WassersteinGan, GradientsThroughThePenaltyAgreeWithFiniteDifferences) {
  expect_gradients_agree_with_differences(wasserstein(20), kDiscriminator, kStep, kKinks);
  expect_gradients_agree_with_differences(wasserstein(20), kGenerator, kStep, kKinks);
}

TEST(WassersteinGan, ThePenaltyIsLinearInItsWeight) {
  const float none = run_phase(wasserstein(0), kDiscriminator, 1).loss_sum();
  const float one = run_phase(wasserstein(1), kDiscriminator, 1).loss_sum();
  const float two = run_phase(wasserstein(2), kDiscriminator, 1).loss_sum();
  EXPECT_GT(one, none);
  EXPECT_NEAR((two - none) / (one - none), 2.0F, 1e-3F);
}

TEST(WassersteinGan, LossAndGradientsHaveTheSameBitsOnAnyNumberOfRanks) {
  for (const int phase : {kDiscriminator, kGenerator})
    expect_same_bits_on_any_number_of_ranks(wasserstein(10), phase);
}

TEST(Gan, GeneratorGradientsAgreeWithFiniteDifferences) {
  expect_gradients_agree_with_differences(gan(0), kGenerator, kStep, kKinks);
}

TEST(Gan, LossGradientsAndStatisticsHaveTheSameBitsOnAnyNumberOfRanks) {
  for (const int phase : {kDiscriminator, kGenerator}) {
    expect_same_bits_on_any_number_of_ranks(gan(1), phase);
  }
}

TEST(ConvolutionalGan, GradientsAgreeWithFiniteDifferences) {
  for (const Case& c : convolutionals()) {
    for (const int phase : {kDiscriminator, kGenerator})
      expect_gradients_agree_with_differences(c, phase, kStep / 4, 5 * kKinks);
  }
}

// Not by differences: at each of a picture's many kinks the penalty jumps.
TEST(ConvolutionalGan, R1ReachesThroughSpectralConvolutionsWithTheSameBitsOnAnyNumberOfRanks) {
  Case c = convolutional("sngan", "hinge-gan");
  const auto none = run_phase(c, kDiscriminator, 1);
  c.options.kind.as<GanOptions>().r1 = 20;
  const auto some = run_phase(c, kDiscriminator, 1);
  EXPECT_GT(some.loss_sum(), none.loss_sum());
  for (std::size_t i = 0; i < some.gradients.size(); i += 2)  // weights; biases have no part in it
    EXPECT_FALSE(same_bits(some.gradients[i], none.gradients[i])) << i;
  expect_same_bits_on_any_number_of_ranks(c, kDiscriminator);
}

TEST(ConvolutionalGan, LossGradientsAndStatisticsHaveTheSameBitsOnAnyNumberOfRanks) {
  for (const Case& c : convolutionals()) {
    for (const int phase : {kDiscriminator, kGenerator})
      expect_same_bits_on_any_number_of_ranks(c, phase);
  }
}

TEST(Gan, R1AddsHalfGammaTimesTheSquaredSlopeOnRealSamples) {
  const float none = run_phase(gan(0), kDiscriminator, 1).loss_sum();
  const float one = run_phase(gan(1), kDiscriminator, 1).loss_sum();
  const float two = run_phase(gan(2), kDiscriminator, 1).loss_sum();
  EXPECT_GT(one, none);
  EXPECT_NEAR((two - none) / (one - none), 2.0F, 1e-3F);  // linear in gamma, up to rounding
}

void expect_statistics_to_move_in_their_own_phase_only(const Case& c) {
  std::vector<Tensor> discriminator, generator;
  run_phase(c, kDiscriminator, 1, &discriminator);
  run_phase(c, kGenerator, 1, &generator);
  std::vector<Tensor> first;
  for (const Role& role : c.make_networks()) {
    for (const auto& b : role.network->buffers_in_order()) first.push_back(b.tensor);
  }
  // Buffers: the generator's running statistics, then the discriminator's, or its singular vectors.
  const std::size_t own = c.make_networks()[0].network->buffers_in_order().size();
  ASSERT_GT(own, 0U);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(same_bits(first[i], discriminator[i]), i < own) << i;
    EXPECT_EQ(same_bits(first[i], generator[i]), i >= own) << i;
  }
}

TEST(Gan, StatisticsOfANetworkMoveInItsOwnPhaseOnly) {
  expect_statistics_to_move_in_their_own_phase_only(gan(1));
  for (const Case& c : convolutionals()) expect_statistics_to_move_in_their_own_phase_only(c);
}

Case with_classes(Case c) {
  c.classes = 3;
  return c;
}

// The penalty reaches the classes' rows, too.
TEST(GanWithClasses, GradientsAgreeWithFiniteDifferences) {
  expect_gradients_agree_with_differences(with_classes(gan(20)), kDiscriminator, kStep, kKinks);
  expect_gradients_agree_with_differences(with_classes(gan(0)), kGenerator, kStep, kKinks);
}

TEST(GanWithClasses, LossGradientsAndStatisticsHaveTheSameBitsOnAnyNumberOfRanks) {
  std::vector<Case> cases = convolutionals();
  cases.push_back(gan(1));
  for (const Case& c : cases)
    for (const int phase : {kDiscriminator, kGenerator})
      expect_same_bits_on_any_number_of_ranks(with_classes(c), phase);
}

TEST(Gan, AnotherSortOfNetworkIsAUsageErrorThatListsTheKindsOfThisOne) {
  for (const std::size_t role : {0, 1}) {
    Case c = gan(0);
    c.networks[role] = c.networks[1 - role];
    try {
      c.bound(c.make_networks());
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
      EXPECT_EQ(e.message(), role == 0
                                 ? "generator.kind: this objective needs a generator"
                                 : "discriminator.kind: this objective needs a discriminator");
      EXPECT_EQ(e.hint(),
                role == 0 ? "use mlp-generator, dcgan-generator or sngan-generator"
                          : "use mlp-discriminator, dcgan-discriminator or sngan-discriminator");
    }
  }
}

TEST(Gan, ASampleDoesNotDependOnHowManyAreMade) {
  const Case c = gan(0);
  const auto objective = c.bound(c.make_networks());
  const Tensor many = objective->sample({.first = 0, .count = 70});  // more than are made at once
  for (const std::int64_t i : {0, 63, 64, 69}) {
    EXPECT_TRUE(same_bits(many.narrow(0, i, 1), objective->sample({.first = i, .count = 1}))) << i;
  }
}

}  // namespace
}  // namespace lockstep::objective
