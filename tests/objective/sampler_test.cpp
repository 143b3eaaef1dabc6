#include "lockstep/objective/sampler.h"

#include "lockstep/objective/ddim.h"
#include "lockstep/objective/ddpm.h"
#include "lockstep/objective/euler.h"
#include "lockstep/objective/flow.h"
#include "lockstep/objective/heun.h"
#include "lockstep/objective/rectified_flow.h"
#include "lockstep/objective/variance_preserving.h"
#include "lockstep/ops/device.h"
#include "objective/rig.h"

namespace lockstep::objective {
namespace {

using namespace testing;  // NOLINT

constexpr double kSpread = 0.25;  // rarely clipped at -1 and 1

// The best possible denoiser of data that is N(0, kSpread^2) in every pixel, in closed form.
class GaussianDenoiser : public model::Denoiser {
 public:
  GaussianDenoiser(NoiseSchedule schedule, std::string prediction)
      : schedule_(std::move(schedule)), prediction_(std::move(prediction)) {}
  double forward_flops() const override { return 0; }
  Tensor forward(lane::Context&, const Tensor& x, const Tensor& t, const Tensor&) override {
    const double ab = schedule_.alpha_bar[static_cast<std::size_t>(*ops::read(t))];
    const double total = ab * kSpread * kSpread + 1 - ab;
    const double noise = std::sqrt(1 - ab) / total;                      // E[e | x] / x
    const double clean = std::sqrt(ab) * kSpread * kSpread / total;      // E[x0 | x] / x
    const double v = std::sqrt(ab) * noise - std::sqrt(1 - ab) * clean;  // E[v | x] / x
    return ops::scale(x, static_cast<float>(prediction_ == "v"    ? v
                                            : prediction_ == "x0" ? clean
                                                                  : noise));
  }

 private:
  NoiseSchedule schedule_;
  std::string prediction_;
};

TEST(Sampler, MakesTheDataWhenTheDenoiserIsPerfect) {
  for (const char* sampler : {"ancestral", "ddim"}) {
    for (const char* prediction : {"epsilon", "v", "x0"}) {
      for (const char* name : {"linear", "cosine"}) {
        Options options;
        auto& o = options.kind.as<DdpmOptions>();
        o.prediction = prediction;
        o.schedule = name;
        o.timesteps = 400;
        o.sampler = "ddim";
        o.sampler.as<DdimOptions>().steps = 400;
        o.sampler = sampler;
        const Networks networks = {
            {"model", std::make_shared<GaussianDenoiser>(
                          make_noise_schedule(o.schedule, o.timesteps), o.prediction)}};
        const auto objective = make_objective(
            options, {.seed = 7, .sample_shape = {8, 8, 1}, .classes = 0, .networks = networks});
        const Tensor x = objective->sample({.first = 0, .count = 64});
        double sum = 0, squares = 0;
        for (std::int64_t i = 0; i < x.numel(); ++i) {
          sum += ops::read(x)[i];
          squares += static_cast<double>(ops::read(x)[i]) * ops::read(x)[i];
        }
        const auto n = static_cast<double>(x.numel());
        const std::string which = std::string(sampler) + " " + prediction + " " + name;
        // 4096 values: standard errors 0.004 of the mean and 1.1 % of the deviation; the rest is
        // the sampler's own error of a finite number of steps.
        EXPECT_NEAR(sum / n, 0.0, 0.02) << which;
        EXPECT_NEAR(std::sqrt(squares / n) / kSpread, 1.0, 0.06) << which;
      }
    }
  }
}

// The best possible velocity of the same data, in closed form; it is told 1000 t.
class GaussianVelocity : public model::Denoiser {
 public:
  double forward_flops() const override { return 0; }
  Tensor forward(lane::Context&, const Tensor& x, const Tensor& told, const Tensor&) override {
    const double t = static_cast<double>(*ops::read(told)) / 1000, variance = kSpread * kSpread;
    const double total = (1 - t) * (1 - t) * variance + t * t;
    return ops::scale(x, static_cast<float>((t - (1 - t) * variance) / total));
  }
};

TEST(Sampler, EulerRefusesANumberOfStepsThatNoRecipeMayHave) {
  const auto process = make_rectified_flow();
  Kind<SamplerKind> euler(samplers_by_time());
  for (const std::int64_t steps : {std::int64_t{0}, std::int64_t{1} << 40}) {
    euler.as<EulerOptions>().steps = steps;
    try {
      euler.row("sampler").make(euler, *process);
      ADD_FAILURE() << steps;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
    }
  }
}

TEST(Sampler, EulerMakesTheDataOfAFlowWhenTheVelocityIsPerfect) {
  Options options;
  options.kind = "flow";
  options.kind.as<FlowOptions>().sampler.as<EulerOptions>().steps = 400;
  const Networks networks = {{"model", std::make_shared<GaussianVelocity>()}};
  const auto objective = make_objective(
      options, {.seed = 7, .sample_shape = {8, 8, 1}, .classes = 0, .networks = networks});
  const Tensor x = objective->sample({.first = 0, .count = 64});
  double sum = 0, squares = 0;
  for (const float value : ops::HostView(x).floats()) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto n = static_cast<double>(x.numel());
  // As above; Euler's own error of 400 steps is under one part in a hundred.
  EXPECT_NEAR(sum / n, 0.0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / n) / kSpread, 1.0, 0.05);
}

// Of 64 pictures by a flow's sampler with perfect velocities.
double spread_of(const char* sampler, std::int64_t steps) {
  Options options;
  options.kind = "flow";
  auto& chosen = options.kind.as<FlowOptions>().sampler;
  chosen = sampler;
  chosen.row("sampler").steps(chosen) = steps;
  const Networks networks = {{"model", std::make_shared<GaussianVelocity>()}};
  const auto objective = make_objective(
      options, {.seed = 7, .sample_shape = {8, 8, 1}, .classes = 0, .networks = networks});
  const Tensor x = objective->sample({.first = 0, .count = 64});
  double squares = 0;
  for (const float value : ops::HostView(x).floats()) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(x.numel()));
}

// The velocity is linear in x, so a sampler scales all samples alike: what differs from many steps
// is its own error. Twice as many steps halve Euler's, and quarter Heun's but for its last step.
TEST(Sampler, HeunIsOfSecondOrder) {
  const double limit = spread_of("heun", 2000);
  EXPECT_NEAR(spread_of("euler", 2000), limit, 2e-3);
  const double euler = std::abs(spread_of("euler", 40) - limit);
  const double heun = std::abs(spread_of("heun", 40) - limit);
  EXPECT_LT(heun, euler / 10);
}

// dx/dt = t x, two steps, by hand.
TEST(Sampler, HeunTakesTheMeanOfBothSlopesButForTheLastStep) {
  const auto process = make_rectified_flow();
  Kind<SamplerKind> heun(samplers_by_time());
  heun = "heun";
  heun.as<HeunOptions>().steps = 2;
  std::vector<Time> asked;
  const auto sampler = heun.row("sampler").make(heun, *process);
  const Tensor made = sampler->sample(
      ops::filled({1}, 1.0F),
      [&](const Tensor& x, Time t) {
        asked.push_back(t);
        return ops::scale(x, t);
      },
      nullptr);
  EXPECT_EQ(sampler->predictions(), 3);
  EXPECT_EQ(asked, (std::vector<Time>{1, 0.5F, 0.5F}));
  // 1 - 0.25 (1 + 0.5 * 0.5) = 0.6875; then 0.6875 - 0.5 * 0.5 * 0.6875.
  EXPECT_EQ(*ops::read(made), 0.515625F);
}

TEST(Flow, LogitNormalTimesAreSigmoidsOfNormals) {
  FlowOptions o;
  o.times = "logit-normal";
  o.logit_mean = 0.5;
  o.logit_std = 2.0;
  const auto process = make_rectified_flow(o);
  const numerics::Stream stream{.key = {3, 4}, .micro = 0};
  int late = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    float n = 0;
    ops::device().fill_normal(stream, i, 1, 1, &n);
    const Time t = process->sample_time(stream, i);
    EXPECT_NEAR(t, 1 / (1 + std::exp(-(0.5 + 2.0 * n))), 1e-6);
    late += t > 0.5F ? 1 : 0;
  }
  EXPECT_NEAR(late, 599, 60);  // P(n > -1/4)
  o.times = "sometimes";
  EXPECT_THROW(make_rectified_flow(o), Error);
}

TEST(Sampler, AsksAtItsTimestepsAndForNoiseByTheTimestep) {
  Kind<NoiseScheduleKind> schedule(noise_schedules());
  const auto process = make_variance_preserving(make_noise_schedule(schedule, 5), "epsilon");
  Kind<SamplerKind> kind(samplers_by_timesteps());
  for (const char* word : {"ddim", "ancestral"}) {
    kind = word;
    if (const auto steps = kind.row("sampler").steps) steps(kind) = 5;
    std::vector<Time> asked;
    std::vector<std::int64_t> uses;
    const Tensor start = normals({2, 3}, 1);
    const Tensor made = kind.row("sampler")
                            .make(kind, *process)
                            ->sample(
                                start,
                                [&](const Tensor& x, Time t) {
                                  asked.push_back(t);
                                  return ops::scale(x, 0.5F);
                                },
                                [&](std::int64_t use) {
                                  uses.push_back(use);
                                  return normals({2, 3}, 2);
                                });
    EXPECT_EQ(asked, (std::vector<Time>{4, 3, 2, 1, 0}));
    const bool noise = word == std::string("ancestral");  // none at the last step
    EXPECT_EQ(uses, noise ? (std::vector<std::int64_t>{4, 3, 2, 1}) : std::vector<std::int64_t>());
    EXPECT_TRUE(made.is_same(start));  // which is overwritten
  }
}

TEST(Sampler, APictureDoesNotDependOnHowManyAreMade) {
  for (const char* sampler : {"ancestral", "ddim"}) {
    Case c;
    auto& o = c.options.kind.as<DdpmOptions>();
    o.timesteps = 4;
    o.sampler = "ddim";
    o.sampler.as<DdimOptions>().steps = 2;
    o.sampler = sampler;
    c.networks = {unet({.channels = {4, 4},
                        .blocks = 1,
                        .attention_levels = {1},
                        .heads = 2,
                        .groups = 2,
                        .embedding = 4})};
    c.shape = {8, 8, 1};
    const auto objective = c.bound(c.make_networks());
    const Tensor many = objective->sample({.first = 10, .count = 66});  // more than at once
    EXPECT_TRUE(finite(many));
    for (const std::int64_t i : {0, 63, 64, 65}) {
      EXPECT_TRUE(same_bits(many.narrow(0, i, 1), objective->sample({.first = 10 + i, .count = 1})))
          << sampler << " " << i;
    }
    EXPECT_FALSE(same_bits(many.narrow(0, 0, 1), many.narrow(0, 1, 1)));
  }
}

}  // namespace
}  // namespace lockstep::objective
