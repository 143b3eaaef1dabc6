// What diffusion does with classes: whose class is dropped in training, which class a sample has,
// and guidance. Networks made by hand show what they were told.
#include <algorithm>
#include <optional>

#include "lockstep/core/error.h"
#include "lockstep/numerics/stream.h"
#include "lockstep/objective/ddim.h"
#include "lockstep/objective/ddpm.h"
#include "lockstep/objective/gan.h"
#include "objective/rig.h"
#include "support/cpu.h"

namespace lockstep::objective {
namespace {

using namespace testing;  // NOLINT

constexpr std::int64_t kClasses = 3, kFirst = 1000;  // the draw at which Case's batch begins

// Of each row, its class or kNoClass.
std::vector<std::int64_t> labels_of(const Tensor& condition) {
  std::vector<std::int64_t> labels;
  const std::int64_t classes = condition.size(1);
  for (std::int64_t i = 0; i < condition.size(0); ++i) {
    const float* const row = ops::read(condition) + i * classes;
    const auto ones = std::count(row, row + classes, 1.0F);
    EXPECT_EQ(ones + std::count(row, row + classes, 0.0F), classes);
    EXPECT_LE(ones, 1);
    labels.push_back(ones == 0 ? kNoClass : std::find(row, row + classes, 1.0F) - row);
  }
  return labels;
}

// What a network has been told.
struct Told {
  float t = 0;
  Tensor condition;
};

// Of each sample x times a number of its class; or, with `guidance`, what guidance makes of its
// answers with the class and without it.
class ByHand : public model::Denoiser {
 public:
  explicit ByHand(std::optional<double> guidance = {}) : guidance_(guidance) {}
  double forward_flops() const override { return 0; }
  Tensor forward(lane::Context&, const Tensor& x, const Tensor& t,
                 const Tensor& condition) override {
    told.push_back({*ops::read(t), condition});
    Tensor out = ops::empty(x.sizes());
    const auto labels =
        condition.defined() ? labels_of(condition) : std::vector<std::int64_t>(x.size(0), kNoClass);
    const std::int64_t each = x.numel() / x.size(0);
    for (std::int64_t i = 0; i < x.numel(); ++i)
      ops::write(out)[i] = answer(ops::read(x)[i], labels[static_cast<std::size_t>(i / each)]);
    return out;
  }

  std::vector<Told> told;

 private:
  static float own(float x, std::int64_t label) {
    return x * (0.3F + 0.1F * static_cast<float>(label));
  }
  float answer(float x, std::int64_t label) const {
    if (!guidance_) return own(x, label);
    return std::fma(static_cast<float>(*guidance_), own(x, label),
                    static_cast<float>(1.0 - *guidance_) * own(x, kNoClass));
  }

  std::optional<double> guidance_;
};

Case by_hand(double label_dropout, double guidance = 1.0) {
  Case c;
  auto& o = c.options.kind.as<DdpmOptions>();
  o.timesteps = 10;
  o.sampler = "ddim";
  o.sampler.as<DdimOptions>().steps = 4;
  o.label_dropout = label_dropout;
  o.guidance = guidance;
  c.shape = {3, 2, 1};
  c.samples_per_lane = 5;
  c.classes = kClasses;
  return c;
}

std::shared_ptr<ByHand> hand(std::optional<double> guidance = {}) {
  return std::make_shared<ByHand>(guidance);
}

// What the network is told in training of the batch, by `world` ranks, in the batch's order.
std::vector<std::int64_t> trained_labels(const Case& c, int world) {
  const lane::Plan all({.lanes = Case::kLanes, .samples_per_lane = c.samples_per_lane}, world);
  std::vector<std::int64_t> labels(static_cast<std::size_t>(all.batch()));
  comm::run_local(world, [&](comm::Group& group) {
    const auto network = hand();
    const auto objective = c.bound({{"model", network}});
    lane::Context context(all, group);
    loss_at_once(c.phase_of(*objective, 0), context, c.batch(all, group.rank()));
    EXPECT_EQ(network->told.size(), 1U);
    std::ranges::copy(labels_of(network->told.front().condition),
                      labels.begin() + all.first_draw(group.rank()));
  });
  return labels;
}

float uniform_at(std::int64_t draw) {
  float uniform = 0;
  numerics::cpu().fill_uniform(numerics::stream(42, "ddpm/label-dropout"),
                               static_cast<std::uint64_t>(draw), 1, &uniform);
  return uniform;
}

TEST(LabelDropout, IsOfTheSamplesWhoseUniformAtTheDrawIsBelowTheShare) {
  const std::int64_t batch = Case::kLanes * by_hand(0).samples_per_lane;
  // The last is a sample's own number: that sample keeps its class.
  for (const double share : {0.1, 0.3, 0.7, static_cast<double>(uniform_at(kFirst + 7))}) {
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = 0; i < batch; ++i)
      wanted.push_back(uniform_at(kFirst + i) < static_cast<float>(share) ? kNoClass
                                                                          : i * 5 % kClasses);
    const auto dropped = std::ranges::count(wanted, kNoClass);
    EXPECT_TRUE(dropped > 0 && dropped < batch) << share;
    for (const int world : {1, 2, 5}) EXPECT_EQ(trained_labels(by_hand(share), world), wanted);
  }
}

TEST(LabelDropout, OfShareZeroLeavesTheConditionsThemselves) {
  const Case c = by_hand(0.0);
  comm::run_local(1, [&](comm::Group& group) {
    const auto network = hand();
    const auto objective = c.bound({{"model", network}});
    const lane::Plan plan({.lanes = Case::kLanes, .samples_per_lane = c.samples_per_lane}, 1);
    lane::Context context(plan, group);
    const Batch batch = c.batch(plan, Rank(0));
    loss_at_once(c.phase_of(*objective, 0), context, batch);
    EXPECT_TRUE(network->told.front().condition.is_same(batch.condition));  // nothing is computed
  });
}

Case unet_case(double label_dropout) {
  Case c = by_hand(label_dropout);
  c.networks = {unet({.channels = {4, 4},
                      .blocks = 1,
                      .attention_levels = {1},
                      .heads = 2,
                      .groups = 2,
                      .embedding = 6})};
  c.shape = {8, 8, 1};
  c.samples_per_lane = 2;
  return c;
}

// Of the whole batch on one rank; `no_class`: no sample is given a class.
float loss_of(const Case& c, bool no_class) {
  float loss = 0;
  comm::run_local(1, [&](comm::Group& group) {
    const Networks networks = c.make_networks();
    const auto objective = c.bound(networks);
    const lane::Plan plan({.lanes = Case::kLanes, .samples_per_lane = c.samples_per_lane}, 1);
    prepare(c.options, networks, 0);
    lane::Context context(plan, group);
    Batch batch = c.batch(plan, Rank(0));
    const auto n = static_cast<std::size_t>(plan.batch());
    if (no_class) batch.condition = condition_of(std::vector(n, kNoClass), kClasses);
    loss = *ops::read(loss_at_once(c.phase_of(*objective, 0), context, batch).sums);
  });
  return loss;
}

TEST(LabelDropout, OfShareOneIsTrainingWithoutClasses) {
  EXPECT_EQ(loss_of(unet_case(1.0), false), loss_of(unet_case(0.0), true));
  EXPECT_EQ(loss_of(unet_case(1.0), false), loss_of(unet_case(1.0), true));
  EXPECT_NE(loss_of(unet_case(1.0), false), loss_of(unet_case(0.0), false));
  EXPECT_NE(loss_of(unet_case(0.5), false), loss_of(unet_case(0.0), false));
  EXPECT_NE(loss_of(unet_case(0.5), false), loss_of(unet_case(1.0), false));
}

TEST(LabelDropout, GivesTheSameBitsOnAnyNumberOfRanks) {
  expect_same_bits_on_any_number_of_ranks(unet_case(0.4), 0);
}

// The samples of a hand-made network, and what it was told.
Tensor sampled(const Case& c, const std::shared_ptr<ByHand>& network, const SampleRange& range) {
  return c.bound({{"model", network}})->sample(range);
}

TEST(Guidance, IsTheFormulaOfEveryAnswer) {
  // 1.1 and 0.4: float(1 - s) is not 1 - float(s).
  for (const double scale : {0.0, 0.4, 1.1, 2.5, 7.3, 1000.0}) {
    for (const char* sampler : {"ddim", "ancestral"}) {
      Case guided = by_hand(0.1, scale), plain = by_hand(0.1);
      guided.options.kind.as<DdpmOptions>().sampler = sampler;
      plain.options.kind.as<DdpmOptions>().sampler = sampler;
      const SampleRange range{.first = 4, .count = 20};
      const Tensor samples = sampled(guided, hand(), range);
      EXPECT_TRUE(same_bits(samples, sampled(plain, hand(scale), range))) << scale << sampler;
      EXPECT_FALSE(same_bits(samples, sampled(plain, hand(), range))) << scale << sampler;
    }
  }
}

TEST(Guidance, AsksTwiceAtEachTimeAndWithoutItOnce) {
  const SampleRange range{.first = 1, .count = 2};
  const std::vector<std::int64_t> classes = {1, 2}, none = {kNoClass, kNoClass};
  const std::vector<float> times = {9, 6, 4, 1};
  const auto once = hand(), twice = hand();
  sampled(by_hand(0.1), once, range);
  sampled(by_hand(0.1, 3.0), twice, range);
  ASSERT_EQ(once->told.size(), times.size());
  ASSERT_EQ(twice->told.size(), 2 * times.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(once->told[i].t, times[i]);
    EXPECT_EQ(labels_of(once->told[i].condition), classes);
    EXPECT_EQ(twice->told[2 * i].t, times[i]);
    EXPECT_EQ(twice->told[2 * i + 1].t, times[i]);
    EXPECT_EQ(labels_of(twice->told[2 * i].condition), classes);
    EXPECT_EQ(labels_of(twice->told[2 * i + 1].condition), none);
  }
}

// People watch it: it need not be exact.
TEST(Guidance, CountsItsPasses) {
  for (const double scale : {1.0, 3.0}) {
    for (const std::int64_t count : {2, 16, 20}) {
      const auto network = hand();
      std::vector<double> parts;
      by_hand(0.1, scale)
          .bound({{"model", network}})
          ->sample({.first = 0, .count = count}, [&](double part) { parts.push_back(part); });
      ASSERT_EQ(parts.size(), network->told.size());
      for (std::size_t i = 0; i < parts.size(); ++i)
        EXPECT_NEAR(parts[i], static_cast<double>(i) / static_cast<double>(parts.size()), 1e-12);
    }
  }
}

TEST(Classes, OfSamplesFollowTheirNumbers) {
  const auto network = hand();
  const Tensor all = sampled(by_hand(0), network, {.first = 10, .count = 20});
  std::vector<std::int64_t> wanted;
  for (std::int64_t i = 10; i < 26; ++i) wanted.push_back(i % kClasses);
  EXPECT_EQ(labels_of(network->told.front().condition), wanted);  // 16 are made at once
  EXPECT_EQ(labels_of(network->told.back().condition), (std::vector<std::int64_t>{2, 0, 1, 2}));
  for (std::int64_t label = 0; label < kClasses; ++label) {
    const auto told_label = hand();
    const Tensor own = sampled(by_hand(0), told_label, {.first = 10, .count = 20, .label = label});
    EXPECT_EQ(labels_of(told_label->told.back().condition), std::vector(4, label));
    for (std::int64_t i = 0; i < 20; ++i)
      EXPECT_EQ(same_bits(own.narrow(0, i, 1), all.narrow(0, i, 1)), (10 + i) % kClasses == label);
  }
}

class GeneratorByHand : public model::Generator {
 public:
  double forward_flops() const override { return 0; }
  std::int64_t latent() const override { return 2; }
  Tensor forward(lane::Context&, const Tensor& z, const Tensor& condition, bool) override {
    told.push_back(condition);
    return z;
  }
  std::vector<Tensor> told;
};

class Telling : public model::Discriminator {
 public:
  double forward_flops() const override { return 0; }
  Tensor forward(lane::Context& context, const Tensor& x, const Tensor& condition,
                 bool trained) override {
    told.push_back(condition);
    return dynamic_cast<Discriminator&>(*network).forward(context, x, condition, trained);
  }
  std::shared_ptr<Network> network =
      model::make_network(mlp("mlp-discriminator", 4, 1, 1), {2}, kClasses);
  std::vector<Tensor> told;
};

Case gan_by_hand() {
  Case c;
  c.options.kind = "gan";
  c.options.kind.as<GanOptions>().r1 = 0.5;
  c.shape = {2};
  c.classes = kClasses;
  return c;
}

TEST(Classes, OfFakesAreThoseOfTheRealSamplesInEveryPass) {
  const Case c = gan_by_hand();
  comm::run_local(1, [&](comm::Group& group) {
    const lane::Plan plan({.lanes = Case::kLanes, .samples_per_lane = 2}, 1);
    const Batch batch = c.batch(plan, Rank(0));
    for (const int phase : {0, 1}) {
      const auto generator = std::make_shared<GeneratorByHand>();
      const auto discriminator = std::make_shared<Telling>();
      discriminator->network->initialize(1, "discriminator");
      discriminator->network->prepare(phase == 0);
      const auto objective = c.bound({{"generator", generator}, {"discriminator", discriminator}});
      lane::Context context(plan, group);
      loss_at_once(c.phase_of(*objective, phase), context, batch);
      EXPECT_EQ(generator->told.size(), 1U);
      EXPECT_EQ(discriminator->told.size(), phase == 0 ? 3U : 1U);  // real, fake, R1's; fake
      for (const auto& all : {generator->told, discriminator->told})
        for (const Tensor& told : all) EXPECT_TRUE(same_bits(told, batch.condition)) << phase;
    }
  });
}

TEST(Classes, OfAGansSamplesFollowTheirNumbers) {
  const Case c = gan_by_hand();
  const auto generator = std::make_shared<GeneratorByHand>();
  const auto objective =
      c.bound({{"generator", generator}, {"discriminator", std::make_shared<Telling>()}});
  const Tensor followed = objective->sample({.first = 5, .count = 4});
  EXPECT_EQ(labels_of(generator->told.back()), (std::vector<std::int64_t>{2, 0, 1, 2}));
  const Tensor told = objective->sample({.first = 5, .count = 4, .label = 1});
  EXPECT_EQ(labels_of(generator->told.back()), (std::vector<std::int64_t>{1, 1, 1, 1}));
  EXPECT_TRUE(same_bits(followed, told));  // the latents are the number's, whatever its class
}

TEST(Classes, AreARowOfOneOneEach) {
  const Tensor rows = condition_of({2, kNoClass, 0}, 3);
  ASSERT_EQ(rows.sizes(), (std::vector<std::int64_t>{3, 3}));
  const std::vector<float> wanted = {0, 0, 1, 0, 0, 0, 1, 0, 0};
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), ops::read(rows)));
  EXPECT_FALSE(condition_of({}, 0).defined());
  for (const std::int64_t label : {3, -2}) {
    try {
      condition_of({0, label}, 3);
      ADD_FAILURE() << label;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kBug);  // data and options have been checked before
    }
  }
}

TEST(Classes, ThatDoNotFitAreUsageErrorsThatSayWhatToDo) {
  const auto refused = [](const Case& c, const SampleRange& range, const std::string& message,
                          const std::string& hint) {
    try {
      sampled(c, hand(), range);
      ADD_FAILURE() << message;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
      EXPECT_EQ(e.message(), message);
      EXPECT_EQ(e.hint(), hint);
    }
  };
  Case none = by_hand(0.1);
  none.classes = 0;
  refused(none, {0, 1}, "label_dropout: the data have no classes",
          "set data.classes, or leave label_dropout out");
  refused(by_hand(0, 2.0), {0, 1}, "guidance: the network never sees a sample without its class",
          "train with label_dropout, such as 0.1, or leave guidance out");
  refused(by_hand(0), {0, 1, 3}, "there is no class 3 among 3 classes", "classes count from 0");
  refused(by_hand(0), {0, 1, -1}, "there is no class -1 among 3 classes", "classes count from 0");
  none = by_hand(0);
  none.classes = 0;
  refused(none, {0, 1, 0}, "there is no class 0 among 0 classes",
          "the recipe does not ask for labels: data.classes is 0");
}

}  // namespace
}  // namespace lockstep::objective
