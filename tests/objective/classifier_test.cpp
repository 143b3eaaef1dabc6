#include "lockstep/core/error.h"
#include "lockstep/objective/accuracy.h"
#include "objective/differences.h"

namespace lockstep::objective {
namespace {

using namespace testing;  // NOLINT

Case classifier() {
  Case c{.options = {},
         .networks = {cnn({.channels = {4, 4}, .groups = 2, .features = 6})},
         .shape = {9, 8, 2},
         .samples_per_lane = 2,
         .classes = 3};
  c.options.kind = "classifier";
  return c;
}

Tensor rows(const std::vector<float>& values, std::int64_t classes) {
  return ops::from_host(values, {std::ssize(values) / classes, classes});
}

TEST(CrossEntropy, IsTheNegativeLogarithmOfTheClassesShare) {
  const float inf = 1e30F;
  const Tensor loss =
      ops::cross_entropy(rows({0, 0, 0, 0, 1, 2, 3, 4, inf, 0, 0, 0, -inf, 0, 0, 0}, 4),
                         rows({0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0}, 4));
  EXPECT_FLOAT_EQ(ops::read(loss)[0], std::log(4.0F));
  EXPECT_FLOAT_EQ(ops::read(loss)[1],
                  std::log(1 + std::exp(-1.0F) + std::exp(-2.0F) + std::exp(-3.0F)));
  EXPECT_EQ(ops::read(loss)[2], 0.0F);
  // A share of 0 counts as 2^-126: the loss stays finite.
  EXPECT_FLOAT_EQ(ops::read(loss)[3], 126 * std::log(2.0F));
}

TEST(CrossEntropy, HasTheGradientOfTheSoftmaxLessTheClass) {
  Tensor x = rows({1, -2, 0.5F, 300, 0, -300}, 3);
  x.set_requires_grad(true);
  const Tensor loss = ops::cross_entropy(x, rows({0, 1, 0, 0, 0, 1}, 3));
  const Tensor g =
      ops::gradients({loss}, {rows({2, 0.5F}, 1).view({2})}, {x}, /*create_graph=*/false).front();
  const double e[] = {std::exp(1.0), std::exp(-2.0), std::exp(0.5)}, s = e[0] + e[1] + e[2];
  EXPECT_NEAR(ops::read(g)[0], 2 * e[0] / s, 1e-6);
  EXPECT_NEAR(ops::read(g)[1], 2 * (e[1] / s - 1), 1e-6);
  EXPECT_NEAR(ops::read(g)[2], 2 * e[2] / s, 1e-6);
  // Where the loss is cut off the gradient still leads back.
  EXPECT_EQ(ops::read(g)[3], 0.5F);
  EXPECT_EQ(ops::read(g)[5], -0.5F);
}

TEST(Classifier, GradientsAgreeWithDifferences) {
  expect_gradients_agree_with_differences(classifier(), 0, 1e-2, 1e-2);
}

TEST(Classifier, BitsAreTheSameOnAnyNumberOfRanks) {
  expect_same_bits_on_any_number_of_ranks(classifier(), 0);
}

TEST(Classifier, ARowIsRightWhereItsClassIsLargestAlone) {
  const Tensor condition = rows({1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0}, 3);
  EXPECT_EQ(count_correct(rows({3, 1, 2, 1, 3, 2, 3, 2, 1, 0, 5, -5}, 3), condition), 3);
  EXPECT_EQ(count_correct(rows({3, 3, 2, 1, 1, 1, 0, 0, 0, 5, 5, 0}, 3), condition), 0);
}

TEST(Classifier, CountsWhatItClassifiesRightly) {
  const Case c = classifier();
  const Networks networks = c.make_networks();
  const auto objective = c.bound(networks);
  comm::run_local(1, [&](comm::Group& group) {
    const lane::Plan plan({.lanes = Case::kLanes, .samples_per_lane = 2}, 1);
    prepare(c.options, networks, 0);
    lane::Context context(plan, group);
    const Loss loss = loss_at_once(c.phase_of(*objective, 0), context, c.batch(plan, Rank(0)));
    const Counts counts = loss.counts(loss.seen);
    ASSERT_EQ(counts.size(), 2U);
    EXPECT_EQ(counts[0], (std::pair<std::string, std::int64_t>("classified", 12)));
    EXPECT_EQ(counts[1].first, "classified rightly");
  });
}

TEST(Classifier, NeedsAClassifyingNetwork) {
  Case c = classifier();
  c.networks = {unet({.channels = {4}, .blocks = 1, .attention_levels = {}, .groups = 2})};
  try {
    c.bound(c.make_networks());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUsage);
    EXPECT_EQ(e.message(), "model.kind: this objective needs a classifier");
    EXPECT_EQ(e.hint(), "use cnn");
  }
}

}  // namespace
}  // namespace lockstep::objective
