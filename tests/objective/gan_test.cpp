#include "objective/rig.h"

namespace lockstep::objective {
namespace {

using namespace testing;  // NOLINT

constexpr int kDiscriminator = 0, kGenerator = 1;

Case gan(double r1) {
  Case c;
  c.options.kind = "gan";
  c.options.r1 = r1;
  c.networks.resize(2);
  c.networks[0].kind = "mlp-generator";
  c.networks[1].kind = "mlp-discriminator";
  for (auto& network : c.networks) network.hidden = 8;
  c.shape = {2};
  c.samples_per_lane = 3;
  return c;
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

TEST(Gan, GeneratorGradientsAgreeWithFiniteDifferences) {
  expect_gradients_agree_with_differences(gan(0), kGenerator, kStep, kKinks);
}

TEST(Gan, LossGradientsAndStatisticsHaveTheSameBitsOnAnyNumberOfRanks) {
  for (const int phase : {kDiscriminator, kGenerator}) {
    expect_same_bits_on_any_number_of_ranks(gan(1), phase);
  }
}

TEST(Gan, R1AddsHalfGammaTimesTheSquaredSlopeOnRealSamples) {
  const float none = run_phase(gan(0), kDiscriminator, 1).loss_sum;
  const float one = run_phase(gan(1), kDiscriminator, 1).loss_sum;
  const float two = run_phase(gan(2), kDiscriminator, 1).loss_sum;
  EXPECT_GT(one, none);
  EXPECT_NEAR((two - none) / (one - none), 2.0F, 1e-3F);  // linear in gamma, up to rounding
}

TEST(Gan, StatisticsOfTheGeneratorMoveInItsOwnPhaseOnly) {
  std::vector<Tensor> discriminator, generator;
  run_phase(gan(1), kDiscriminator, 1, &discriminator);
  run_phase(gan(1), kGenerator, 1, &generator);
  const Case c = gan(1);
  std::vector<Tensor> first;
  for (const Role& role : c.make_networks()) {
    for (const auto& b : role.network->buffers_in_order()) first.push_back(b.tensor);
  }
  // Buffers: the generator's running statistics, then the discriminator's singular vectors.
  const std::size_t own = c.make_networks()[0].network->buffers_in_order().size();
  ASSERT_GT(own, 0U);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(same_bits(first[i], discriminator[i]), i < own) << i;
    EXPECT_EQ(same_bits(first[i], generator[i]), i >= own) << i;
  }
}

TEST(Gan, ASampleDoesNotDependOnHowManyAreMade) {
  const Case c = gan(0);
  const auto objective = c.objective();
  const Networks networks = c.make_networks();
  const Tensor many = objective->sample(networks, 0, 70);  // more than are made at once
  for (const std::int64_t i : {0, 63, 64, 69}) {
    EXPECT_TRUE(same_bits(many.narrow(0, i, 1), objective->sample(networks, i, 1))) << i;
  }
}

}  // namespace
}  // namespace lockstep::objective
