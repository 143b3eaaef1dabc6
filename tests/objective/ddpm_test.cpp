#include "lockstep/objective/ddpm.h"

#include "lockstep/core/error.h"
#include "lockstep/objective/variance_preserving.h"
#include "objective/differences.h"

namespace lockstep::objective {
namespace {

using namespace testing;  // NOLINT

Case ddpm(const std::string& prediction) {
  Case c;
  c.options.kind.as<DdpmOptions>().prediction = prediction;
  c.networks = {unet({.channels = {4, 8},
                      .blocks = 1,
                      .attention_levels = {1},
                      .heads = 2,
                      .groups = 2,
                      .embedding = 6})};
  c.shape = {8, 9, 1};
  return c;
}

// Smooth everywhere: what is left is the third derivative times h^2 and float rounding.
TEST(Ddpm, GradientsOfTheWholeUNetAgreeWithFiniteDifferences) {
  for (const char* prediction : {"epsilon", "v", "x0"}) {
    expect_gradients_agree_with_differences(ddpm(prediction), 0, 1e-2, 0.01);
  }
}

TEST(Ddpm, LossAndGradientsHaveTheSameBitsOnAnyNumberOfRanks) {
  expect_same_bits_on_any_number_of_ranks(ddpm("epsilon"), 0);
}

Case weighted(const std::string& prediction, double gamma) {
  Case c = ddpm(prediction);
  auto& o = c.options.kind.as<DdpmOptions>();
  o.weighting = "min-snr";
  o.min_snr_gamma = gamma;
  return c;
}

TEST(Ddpm, WeightedGradientsAgreeAndHaveTheSameBitsOnAnyNumberOfRanks) {
  for (const char* prediction : {"v", "x0"})
    expect_gradients_agree_with_differences(weighted(prediction, 5), 0, 1e-2, 0.01);
  expect_same_bits_on_any_number_of_ranks(weighted("epsilon", 0.5), 0);
}

TEST(Ddpm, TheSignalToNoiseRatioIsBounded) {
  Kind<NoiseScheduleKind> linear(noise_schedules());
  const NoiseSchedule schedule = make_noise_schedule(linear, 100);
  for (const std::string prediction : {"epsilon", "v", "x0"}) {
    const auto process = make_variance_preserving(schedule, prediction, 5.0);
    for (const std::int64_t t : {0, 20, 60, 99}) {
      const double ab = schedule.alpha_bar[static_cast<std::size_t>(t)], snr = ab / (1 - ab);
      const double share = prediction == "x0" ? 1 : prediction == "v" ? snr + 1 : snr;
      const double expected = std::min(snr, 5.0) / share;
      EXPECT_FLOAT_EQ(*process->weight(static_cast<Time>(t)), static_cast<float>(expected)) << t;
    }
  }
  EXPECT_FALSE(make_variance_preserving(schedule, "v")->weight(0));
}

// A bound above every ratio leaves a prediction of the noise as it is.
TEST(Ddpm, ABoundThatIsNeverReachedChangesNoBit) {
  const auto plain = run_phase(ddpm("epsilon"), 0, 1);
  const auto unbounded = run_phase(weighted("epsilon", 1e6), 0, 1);
  EXPECT_EQ(plain.loss_sum(), unbounded.loss_sum());
  EXPECT_NE(plain.loss_sum(), run_phase(weighted("epsilon", 0.5), 0, 1).loss_sum());
}

TEST(Ddpm, WithClassesGradientsAgreeAndHaveTheSameBitsOnAnyNumberOfRanks) {
  Case c = ddpm("epsilon");
  c.classes = 3;
  expect_gradients_agree_with_differences(c, 0, 1e-2, 0.01);
  expect_same_bits_on_any_number_of_ranks(c, 0);
}

TEST(Ddpm, AnUntrainedNetworkPredictsNothingSoTheLossIsThePowerOfItsTarget) {
  Case c = ddpm("epsilon");
  c.samples_per_lane = 50;
  comm::run_local(1, [&](comm::Group& group) {
    Networks networks = {{"model", model::make_network(c.networks[0], c.shape)}};
    const auto objective = c.bound(networks);
    networks[0].network->initialize(1, "model");
    networks[0].network->prepare(false);
    const lane::Plan plan({.lanes = Case::kLanes, .samples_per_lane = c.samples_per_lane}, 1);
    lane::Context context(plan, group);
    const Tensor loss =
        loss_at_once(c.phase_of(*objective, 0), context, c.batch(plan, Rank(0))).sums;
    // Mean square of 21,600 normals: 1, with a standard error of 0.0096.
    EXPECT_NEAR(*ops::read(loss) / static_cast<float>(plan.batch()), 1.0F, 0.05F);
  });
}

TEST(Ddpm, AnotherKindOfNetworkIsAUsageErrorThatNamesTheRole) {
  Case c = ddpm("epsilon");
  c.networks[0] = model::Options{};
  c.networks[0].kind = "mlp-generator";
  const Networks networks = c.make_networks();
  try {
    c.bound(networks);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUsage);
    EXPECT_EQ(e.message(), "model.kind: this objective needs a denoiser");
    EXPECT_EQ(e.hint(), "use unet or dit");
  }
}

}  // namespace
}  // namespace lockstep::objective
