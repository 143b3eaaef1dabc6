// Losses and counts of GANs on networks whose logits are known.
#include <gmock/gmock.h>

#include "lockstep/core/error.h"
#include "lockstep/model/layers.h"
#include "lockstep/objective/gan.h"
#include "lockstep/objective/wasserstein_gan.h"
#include "objective/rig.h"

namespace lockstep::objective {
namespace {

using namespace testing;  // NOLINT

constexpr int kDiscriminator = 0, kGenerator = 1;
constexpr float kFake = -0.25F;  // the logit of every fake

// Every sample is kFake.
class Constant : public model::Generator {
 public:
  Constant() { linear_ = register_module("linear", std::make_shared<model::Linear>(2, 1)); }
  std::int64_t latent() const override { return 2; }
  Tensor forward(lane::Context& context, const Tensor& z, const Tensor&, bool) override {
    return linear_->forward(context, z);
  }
  double forward_flops() const override { return 4; }

 private:
  std::shared_ptr<model::Linear> linear_;
};

// The logit is the sample.
class Identity : public model::Discriminator {
 public:
  explicit Identity(bool penalty) {
    linear_ = register_module("linear", std::make_shared<model::Linear>(1, 1));
    if (!penalty) register_module("norm", std::make_shared<model::BatchNorm>(1));
  }
  Tensor forward(lane::Context& context, const Tensor& x, const Tensor&, bool) override {
    return ops::reshape(linear_->forward(context, x), {x.size(0)});
  }
  double forward_flops() const override { return 2; }

 private:
  std::shared_ptr<model::Linear> linear_;
};

Networks known(bool penalty = true) {
  Networks networks = {{"generator", std::make_shared<Constant>()},
                       {"discriminator", std::make_shared<Identity>(penalty)}};
  const auto fill = [](const Role& role, std::size_t i, float value) {
    Tensor p = role.network->parameters_in_order()[i].tensor.detach();
    p.copy_(ops::filled(p.sizes(), value));
  };
  for (const Role& role : networks) role.network->name_layers(role.name);
  fill(networks[0], 0, 0.0F);
  fill(networks[0], 1, kFake);
  fill(networks[1], 0, 1.0F);
  fill(networks[1], 1, 0.0F);
  return networks;
}

Options options_of(const std::string& kind, double r1 = 0) {
  Options options;
  options.kind = kind;
  if (kind != "wasserstein-gan") options.kind.as<GanOptions>().r1 = r1;
  return options;
}

std::unique_ptr<Objective> objective_of(const Options& options, const Networks& networks) {
  return make_objective(options,
                        {.seed = 1, .sample_shape = {1}, .classes = 0, .networks = networks});
}

// The logits of four real samples in two lanes: right, right by a wide margin, wrong, on the edge.
const std::vector<float> kReal = {0.5F, 3.0F, -1.0F, 0.0F};

// Loss of all samples and counts, added up over the ranks.
std::pair<float, Counts> loss_of(const std::string& kind, int phase, int world) {
  float sum = 0;
  std::vector<Counts> counts(static_cast<std::size_t>(world));
  comm::run_local(world, [&](comm::Group& group) {
    const Options options = options_of(kind);
    const Networks networks = known();
    const auto objective = objective_of(options, networks);
    prepare(options, networks, phase);
    const lane::Plan plan({.lanes = 2, .samples_per_lane = 2}, world);
    Tensor values = ops::empty({plan.sample_count(group.rank()), 1});
    const std::int64_t first = plan.first_draw(group.rank());
    std::copy_n(kReal.begin() + first, values.numel(), ops::write(values));
    lane::Context context(plan, group);
    const Loss loss = loss_at_once(*objective->phases()[static_cast<std::size_t>(phase)], context,
                                   {values, Draw(first)});
    const auto& own = network_of(networks, phases(options)[static_cast<std::size_t>(phase)].role);
    const float whole = lane::backward(context, loss.sums, 1.0F, parameters_of(own)).loss_sum();
    if (loss.counts) counts[static_cast<std::size_t>(group.rank().value)] = loss.counts(loss.seen);
    if (group.rank() == Rank(0)) sum = whole;
  });
  Counts all;
  for (const Counts& one : counts) add(all, one);
  return {sum, all};
}

TEST(HingeGan, LossesAreThoseOfThePaper) {
  for (int world = 1; world <= 2; ++world) {
    // relu(1 - real): 0.5, 0, 2, 1; relu(1 + fake): 0.75 four times. Exact in binary32.
    EXPECT_EQ(loss_of("hinge-gan", kDiscriminator, world).first, 3.5F + 4 * 0.75F);
    EXPECT_EQ(loss_of("hinge-gan", kGenerator, world).first, -4 * kFake);
  }
}

// The discriminator is x itself, so its slope is 1 and the penalty nothing.
TEST(WassersteinGan, LossesAreThoseOfThePaper) {
  for (int world = 1; world <= 2; ++world) {
    EXPECT_EQ(loss_of("wasserstein-gan", kDiscriminator, world).first, -2.5F + 4 * kFake);
    EXPECT_EQ(loss_of("wasserstein-gan", kGenerator, world).first, -4 * kFake);
  }
}

// A critic's logits have no sign that is right.
TEST(WassersteinGan, CountsNoJudgements) {
  EXPECT_EQ(loss_of("wasserstein-gan", kDiscriminator, 1).second, Counts{});
}

TEST(WassersteinGan, RefusesAPenaltyThatTheDiscriminatorDoesNotAllow) {
  Options options;
  options.kind = "wasserstein-gan";
  try {
    objective_of(options, known(false));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUsage);
    EXPECT_THAT(e.what(), ::testing::StartsWith("gp: the discriminator has batch norm"));
  }
  options.kind.as<WassersteinGanOptions>().gp = 0;
  objective_of(options, known(false));
}

TEST(Gan, LossesAreThoseOfThePaper) {
  const auto softplus = [](double x) { return std::log(1 + std::exp(x)); };
  double discriminator = 4 * softplus(kFake);
  for (const float logit : kReal) discriminator += softplus(-logit);
  EXPECT_NEAR(loss_of("gan", kDiscriminator, 1).first, discriminator, 1e-5);
  EXPECT_NEAR(loss_of("gan", kGenerator, 1).first, 4 * softplus(-kFake), 1e-5);
}

TEST(Gan, CountsWhatTheDiscriminatorJudgesRightly) {
  for (const char* kind : {"gan", "hinge-gan"}) {
    for (int world = 1; world <= 2; ++world) {
      // A logit of zero is no answer.
      EXPECT_EQ(loss_of(kind, kDiscriminator, world).second,
                (Counts{{"judged", 8}, {"judged rightly", 2 + 4}}));
      EXPECT_EQ(loss_of(kind, kGenerator, world).second, Counts{});
    }
  }
}

TEST(Gan, RefusesAPenaltyThatTheDiscriminatorDoesNotAllow) {
  objective_of(options_of("gan", 1.0), known(true));
  objective_of(options_of("gan", 0.0), known(false));
  for (const char* kind : {"gan", "hinge-gan"}) {
    try {
      objective_of(options_of(kind, 1.0), known(false));
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
      EXPECT_THAT(e.what(), ::testing::StartsWith("r1: the discriminator has batch norm"));
    }
  }
}

}  // namespace
}  // namespace lockstep::objective
