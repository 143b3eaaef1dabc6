#include "lockstep/objective/edm.h"

#include "lockstep/core/error.h"
#include "lockstep/objective/euler.h"
#include "lockstep/objective/heun.h"
#include "lockstep/objective/variance_exploding.h"
#include "objective/differences.h"

namespace lockstep::objective {
namespace {

using namespace testing;  // NOLINT

Case edm() {
  Case c;
  c.options.kind = "edm";
  c.networks = {unet({.channels = {4, 8},
                      .blocks = 1,
                      .attention_levels = {1},
                      .heads = 2,
                      .groups = 2,
                      .embedding = 6})};
  c.shape = {8, 9, 1};
  return c;
}

TEST(Edm, GradientsOfTheWholeUNetAgreeWithFiniteDifferences) {
  expect_gradients_agree_with_differences(edm(), 0, 1e-2, 0.01);
}

TEST(Edm, LossAndGradientsHaveTheSameBitsOnAnyNumberOfRanks) {
  expect_same_bits_on_any_number_of_ranks(edm(), 0);
}

// Table 1 and equations 7 and 8 of the paper, with its names.
TEST(Edm, IsThePapersPreconditioning) {
  EdmOptions o;
  o.sigma_data = 0.4;
  const auto process = make_variance_exploding(o);
  for (const float t : {0.002F, 0.1F, 0.4F, 3.0F, 80.0F}) {
    const double s = t, d = o.sigma_data;
    const double c_skip = d * d / (s * s + d * d), c_out = s * d / std::sqrt(s * s + d * d);
    const double c_in = 1 / std::sqrt(s * s + d * d);
    EXPECT_FLOAT_EQ(process->input_scale(t), static_cast<float>(c_in));
    EXPECT_FLOAT_EQ(process->time_input(t), static_cast<float>(std::log(s) / 4));
    EXPECT_FLOAT_EQ(process->noising(t).b, static_cast<float>(c_in * s));
    EXPECT_FLOAT_EQ(process->x0(t).a, static_cast<float>(c_skip));
    EXPECT_FLOAT_EQ(process->x0(t).b, static_cast<float>(c_out));
    // F's target: (y - c_skip (y + n)) / c_out, n = s e.
    EXPECT_FLOAT_EQ(process->target(t)->a, static_cast<float>(-c_skip * s / c_out));
    EXPECT_NEAR(process->target(t)->b, (1 - c_skip) / c_out, 1e-5 / s);
    EXPECT_NEAR(process->velocity(t).a, (1 - c_skip) / s, 1e-4);
    EXPECT_FLOAT_EQ(process->velocity(t).b, static_cast<float>(-c_out / s));
    EXPECT_FALSE(process->weight(t));  // lambda c_out^2 = 1
  }
}

TEST(Edm, NoiseLevelsAreLogNormal) {
  const auto process = make_variance_exploding({});
  const numerics::Stream stream{.key = {3, 4}, .micro = 0};
  for (std::uint64_t i = 0; i < 100; ++i) {
    float n = 0;
    ops::device().fill_normal(stream, i, 1, 1, &n);
    const double s = std::exp(-1.2 + 1.2 * static_cast<double>(n));
    EXPECT_NEAR(process->sample_time(stream, i) / s, 1.0, 1e-5);
  }
}

TEST(Edm, SamplersVisitTheNoiseLevelsOfEquation5) {
  const std::vector<double> times = make_variance_exploding({})->times(18);
  ASSERT_EQ(times.size(), 19U);
  EXPECT_EQ(times.front(), 80.0);
  EXPECT_NEAR(times[1], 57.586, 1e-3);  // of EDM's own generate.py, 18 steps
  EXPECT_NEAR(times[17], 0.002, 1e-12);
  EXPECT_EQ(times.back(), 0.0);
  EXPECT_EQ(make_variance_exploding({})->times(1), (std::vector<double>{80.0, 0.0}));
  EdmOptions turned;
  turned.sigma_max = turned.sigma_min;
  EXPECT_THROW(make_variance_exploding(turned), Error);
}

constexpr double kSpread = 0.25;

// The best possible network for data that is N(0, kSpread^2) in every pixel: it is given c_in x and
// told log(s) / 4.
class GaussianNetwork : public model::Denoiser {
 public:
  double forward_flops() const override { return 0; }
  Tensor forward(lane::Context&, const Tensor& x, const Tensor& told, const Tensor&) override {
    const double s = std::exp(4 * static_cast<double>(*ops::read(told))), d = 0.5;
    const double length = std::sqrt(s * s + d * d);
    const double best = kSpread * kSpread / (kSpread * kSpread + s * s);  // E[x0 | x] / x
    const double c_skip = d * d / (length * length), c_out = s * d / length;
    return ops::scale(x, static_cast<float>((best - c_skip) / c_out * length));
  }
};

double spread_of(const char* sampler, std::int64_t steps) {
  Options options;
  options.kind = "edm";
  auto& chosen = options.kind.as<EdmOptions>().sampler;
  chosen = sampler;
  chosen.row("sampler").steps(chosen) = steps;
  const Networks networks = {{"model", std::make_shared<GaussianNetwork>()}};
  const auto objective = make_objective(
      options, {.seed = 7, .sample_shape = {8, 8, 1}, .classes = 0, .networks = networks});
  const Tensor x = objective->sample({.first = 0, .count = 64});
  double squares = 0;
  for (const float value : ops::HostView(x).floats()) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(x.numel()));
}

// 4096 values: a standard error of 1.1 % of the deviation.
TEST(Edm, SamplersMakeTheDataWhenTheNetworkIsPerfect) {
  EXPECT_NEAR(spread_of("euler", 400) / kSpread, 1.0, 0.05);
  EXPECT_NEAR(spread_of("heun", 40) / kSpread, 1.0, 0.05);
}

}  // namespace
}  // namespace lockstep::objective
