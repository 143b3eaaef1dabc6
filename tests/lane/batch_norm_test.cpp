#include "lockstep/lane/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/lane/exchange.h"
#include "ops/finite_differences.h"
#include "support/local_ranks.h"

namespace lockstep::lane {
namespace {

using ops::testing::values;
using Floats = std::vector<float>;

constexpr std::int64_t kLanes = 6, kSamples = 3, kRows = 2, kChannels = 5;

BatchNormState fresh_state() {
  return {.running_mean = ops::filled({kChannels}, 0.25F),
          .running_var = ops::filled({kChannels}, 2.0F)};
}

// Samples of a rank's lanes, out of the whole batch.
Tensor mine(const Plan& plan, Rank rank, const Tensor& whole) {
  return whole.narrow(0, plan.first_draw(rank), plan.sample_count(rank)).contiguous();
}

struct Result {
  Floats y, dx;       // of all samples
  Floats shared;      // dgamma, dbeta, running mean and variance: the same on every rank
  bool agree = true;  // the ranks about `shared`
};

void append(Floats& to, const Tensor& x_in) {
  const Tensor x = x_in.detach().contiguous();
  to.insert(to.end(), ops::read(x), ops::read(x) + x.numel());
}

Result run(int world, const Tensor& x, const Tensor& dy, bool track) {
  const Plan plan({.lanes = kLanes, .samples_per_lane = kSamples}, world);
  std::vector<Result> ranks(static_cast<std::size_t>(world));
  comm::run_local(world, [&](comm::Group& group) {
    Context context(plan, group);
    BatchNormState state = fresh_state();
    Tensor gamma = values({kChannels}, 3), beta = values({kChannels}, 4);
    gamma.requires_grad_(true);
    beta.requires_grad_(true);
    const Tensor part = mine(plan, group.rank(), x).requires_grad_(true);
    const Tensor gammas = context.enter(gamma), betas = context.enter(beta);
    const Tensor y = batch_norm(context, part, gammas, betas, state, track);
    std::vector<Tensor> of_uses(2);
    context.on_partials([&](std::size_t use, const Tensor& grad) { of_uses[use] = grad; });
    const auto grads = ops::gradients({y}, {mine(plan, group.rank(), dy)}, {part, gammas, betas},
                                      /*create_graph=*/false);
    EXPECT_FALSE(grads[1].defined());  // they were heard
    Result& result = ranks[static_cast<std::size_t>(group.rank().value)];
    append(result.y, y);
    append(result.dx, grads[0]);
    const auto of = plan.partition().divide({kChannels, kChannels});
    for (const Tensor& whole :
         exchange(plan, group, {{"gamma", of_uses[0], of[0]}, {"beta", of_uses[1], of[1]}}))
      append(result.shared, whole);
    append(result.shared, state.running_mean);
    append(result.shared, state.running_var);
  });
  Result all;
  all.shared = ranks[0].shared;
  for (const Result& rank : ranks) {
    all.y.insert(all.y.end(), rank.y.begin(), rank.y.end());
    all.dx.insert(all.dx.end(), rank.dx.begin(), rank.dx.end());
    all.agree = all.agree && std::memcmp(rank.shared.data(), all.shared.data(),
                                         all.shared.size() * sizeof(float)) == 0;
  }
  return all;
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Tensor batch(std::uint32_t key) {
  return values({kLanes * kSamples, kRows, kChannels}, key);
}

TEST(BatchNorm, GivesTheSameBitsForEveryWorld) {
  const Tensor x = batch(1), dy = batch(2);
  const Result expected = run(1, x, dy, true);
  for (const int world : {2, 3, 4, 5, 6}) {
    const Result result = run(world, x, dy, true);
    EXPECT_TRUE(same_bits(result.y, expected.y)) << world;
    EXPECT_TRUE(same_bits(result.dx, expected.dx)) << world;
    EXPECT_TRUE(same_bits(result.shared, expected.shared)) << world;
    EXPECT_TRUE(result.agree) << world;
  }
}

// Tolerances: means of 36 values near 8 have errors of a few 2^-24 * 8, about 2e-6; deviations are
// taken from such a mean, so y and the variance are good to about 1e-5.
TEST(BatchNorm, NormalisesByTheStatisticsOfTheWholeBatch) {
  Tensor x = batch(1);
  for (std::int64_t i = 0; i < x.numel(); ++i) ops::write(x)[i] += 8;  // far from 0: cancellation
  const Result result = run(1, x, batch(2), true);
  const Tensor gamma = values({kChannels}, 3), beta = values({kChannels}, 4);
  const std::int64_t count = x.numel() / kChannels;
  for (std::int64_t c = 0; c < kChannels; ++c) {
    double mean = 0, squares = 0;
    for (std::int64_t i = c; i < x.numel(); i += kChannels) mean += ops::read(x)[i];
    mean /= static_cast<double>(count);
    for (std::int64_t i = c; i < x.numel(); i += kChannels)
      squares += (ops::read(x)[i] - mean) * (ops::read(x)[i] - mean);
    const double variance = squares / static_cast<double>(count);
    for (std::int64_t i = c; i < x.numel(); i += kChannels) {
      const double normal = (ops::read(x)[i] - mean) / std::sqrt(variance + 1e-5);
      EXPECT_NEAR(result.y[static_cast<std::size_t>(i)],
                  normal * ops::read(gamma)[c] + ops::read(beta)[c], 5e-5);
    }
    const auto at = static_cast<std::size_t>(2 * kChannels + c);
    EXPECT_NEAR(result.shared[at], 0.9 * 0.25 + 0.1 * mean, 5e-6);
    EXPECT_NEAR(result.shared[at + kChannels],
                0.9 * 2 + 0.1 * squares / static_cast<double>(count - 1), 5e-6);
  }
}

TEST(BatchNorm, UpdatesRunningStatisticsOnlyWhenTracked) {
  const Result result = run(3, batch(1), batch(2), false);
  for (std::size_t c = 0; c < kChannels; ++c) {
    EXPECT_EQ(result.shared[2 * kChannels + c], 0.25F);
    EXPECT_EQ(result.shared[3 * kChannels + c], 2.0F);
  }
  EXPECT_TRUE(same_bits(result.y, run(3, batch(1), batch(2), true).y));
}

TEST(BatchNorm, EvaluatesWithRunningStatisticsSampleBySample) {
  Context context = Context::evaluation(4);
  BatchNormState state = fresh_state();
  const Tensor x = values({4, kChannels}, 1);
  const Tensor gamma = context.enter(values({kChannels}, 3)),
               beta = context.enter(values({kChannels}, 4));
  const Tensor y = batch_norm(context, x, gamma, beta, state, true);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const std::int64_t c = i % kChannels;
    const double normal = (ops::read(x)[i] - 0.25) / std::sqrt(2 + 1e-5);
    EXPECT_NEAR(ops::read(y)[i],
                normal * gamma.const_data_ptr<float>()[c] + beta.const_data_ptr<float>()[c], 1e-6);
  }
  EXPECT_EQ(ops::read(state.running_mean)[0], 0.25F);
}

TEST(BatchNorm, GradientsAreThoseOfFiniteDifferences) {
  const Plan plan({.lanes = 3, .samples_per_lane = 2}, 1);
  comm::run_local(1, [&](comm::Group& group) {
    Context context(plan, group);
    BatchNormState state = fresh_state();
    ops::testing::expect_gradients(context.lanes(),
                                   {{values({6, 2, 3}, 1)},
                                    ops::testing::parameter(values({3}, 2)),
                                    ops::testing::parameter(values({3}, 3))},
                                   [&](const ops::Tensors& in) {
                                     return batch_norm(context, in[0], in[1], in[2], state, false);
                                   });
  });
}

TEST(BatchNorm, ItsGraphNeedsNoContext) {
  const Plan plan({.lanes = 3, .samples_per_lane = 2}, 1);
  comm::run_local(1, [&](comm::Group& group) {
    const auto gradient = [&](bool gone) {
      Context context(plan, group);
      BatchNormState state = fresh_state();
      const Tensor gamma = context.enter(values({kChannels}, 3)),
                   beta = context.enter(values({kChannels}, 4));
      const Tensor x = values({6, kChannels}, 1).requires_grad_(true);
      const Tensor y = batch_norm(context, x, gamma, beta, state, false);
      if (gone) context = Context::evaluation(1);
      Floats dx;
      append(dx, ops::gradients({y}, {values({6, kChannels}, 2)}, {x}, false)[0]);
      return dx;
    };
    EXPECT_EQ(gradient(true), gradient(false));
  });
}

TEST(BatchNorm, RefusesGradientsOfGradients) {
  const Plan plan({.lanes = 2, .samples_per_lane = 2}, 1);
  comm::run_local(1, [&](comm::Group& group) {
    Context context(plan, group);
    BatchNormState state = fresh_state();
    const Tensor gamma = context.enter(values({kChannels}, 3)),
                 beta = context.enter(values({kChannels}, 4));
    const Tensor x = values({4, kChannels}, 1).requires_grad_(true);
    const Tensor y = batch_norm(context, x, gamma, beta, state, false);
    EXPECT_THROW(ops::gradients({y}, {values({4, kChannels}, 2)}, {x}, true), Error);
  });
}

}  // namespace
}  // namespace lockstep::lane
