// The border between ranks: whatever the world size, the bits are those of the tree over lanes.
#include "lockstep/lane/exchange.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <functional>

#include "lockstep/core/error.h"
#include "lockstep/lane/backward.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/where.h"
#include "support/local_ranks.h"

namespace lockstep::lane {
namespace {

using Floats = std::vector<float>;
using Whole = std::vector<Floats>;  // one a tensor

// Gradients as one lane alone would have them: many magnitudes, so that the order of sums shows.
Floats lane_values(std::uint32_t tensor, std::int64_t lane, std::int64_t size) {
  Floats x(static_cast<std::size_t>(size));
  ops::device().fill_normal({.key = {tensor, 5}, .micro = 0}, static_cast<std::uint64_t>(lane), 1,
                            size, x.data());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= static_cast<float>(1 << (i * 7 + 3) % 23);
  return x;
}

// The tree over the lanes of one node.
Floats tree_of_lanes(std::uint32_t tensor, numerics::Subtree node, std::int64_t size) {
  std::vector<Floats> lanes;
  std::vector<const float*> rows;
  for (std::int64_t lane = 0; lane < node.count; ++lane)
    lanes.push_back(lane_values(tensor, node.first + lane, size));
  for (const Floats& lane : lanes) rows.push_back(lane.data());
  Floats sum(static_cast<std::size_t>(size));
  ops::device().tree_sum(rows.data(), node.count, size, sum.data());
  return sum;
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}
bool same_bits(const Whole& a, const Whole& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Floats& x, const Floats& y) { return same_bits(x, y); });
}

Floats floats_of(const Tensor& x_in) {
  const Tensor x = x_in.detach().contiguous();
  return {ops::read(x), ops::read(x) + x.numel()};
}
Whole floats_of(const std::vector<Tensor>& tensors) {
  Whole out;
  for (const Tensor& tensor : tensors) out.push_back(floats_of(tensor));
  return out;
}

// The sums of tensors of which this rank has these partials.
std::vector<Tensor> exchanged(const Plan& plan, comm::Group& group,
                              const std::vector<Tensor>& partials) {
  std::vector<std::int64_t> sizes;
  for (const Tensor& one : partials) sizes.push_back(one.numel() / one.size(0));
  const std::vector<Division> divisions = plan.partition().divide(sizes);
  std::vector<Contribution> mine;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    mine.push_back({"tensor " + std::to_string(i), partials[i], divisions[i]});
  return exchange(plan, group, mine);
}

// Every rank's result.
std::vector<Whole> exchanged(std::int64_t lanes, int world,
                             const std::vector<std::int64_t>& sizes) {
  const Plan plan({.lanes = lanes, .samples_per_lane = 1}, world);
  std::vector<Whole> results(static_cast<std::size_t>(world));
  comm::run_local(world, [&](comm::Group& group) {
    const auto subtrees = plan.subtrees(group.rank());
    std::vector<Tensor> mine;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Tensor partials = ops::empty({static_cast<std::int64_t>(subtrees.size()), sizes[i]});
      for (std::size_t p = 0; p < subtrees.size(); ++p) {
        const Floats sum = tree_of_lanes(static_cast<std::uint32_t>(i), subtrees[p], sizes[i]);
        std::copy(sum.begin(), sum.end(),
                  ops::write(partials) + static_cast<std::int64_t>(p) * sizes[i]);
      }
      mine.push_back(partials);
    }
    results[static_cast<std::size_t>(group.rank().value)] = floats_of(exchanged(plan, group, mine));
  });
  return results;
}

RC_GTEST_PROP(Exchange, GivesEveryRankTheTreeOverSingleLanesForAnyWorldAndSizes, ()) {
  const auto lanes = *rc::gen::inRange<std::int64_t>(1, 10);
  const auto world = *rc::gen::inRange<int>(1, static_cast<int>(lanes) + 1);
  // Around a tile's 4096 floats too.
  const auto sizes = *rc::gen::suchThat(
      rc::gen::resize(
          5, rc::gen::container<std::vector<std::int64_t>>(rc::gen::oneOf(
                 rc::gen::inRange<std::int64_t>(1, 50), rc::gen::inRange<std::int64_t>(4090, 4100),
                 rc::gen::inRange<std::int64_t>(8000, 9000)))),
      [](const auto& s) { return !s.empty(); });
  Whole expected;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    expected.push_back(tree_of_lanes(static_cast<std::uint32_t>(i), {0, lanes}, sizes[i]));
  for (const Whole& result : exchanged(lanes, world, sizes)) RC_ASSERT(same_bits(result, expected));
}

TEST(Exchange, OfNothingIsNothing) {
  const Plan plan({.lanes = 2, .samples_per_lane = 1}, 2);
  comm::run_local(2, [&](comm::Group& group) { EXPECT_TRUE(exchange(plan, group, {}).empty()); });
}

// The negative zero: an absent sibling adds nothing.
TEST(Exchange, KeepsNegativeZero) {
  for (const int world : {1, 2, 3, 5}) {
    const Plan plan({.lanes = 5, .samples_per_lane = 1}, world);
    comm::run_local(world, [&](comm::Group& group) {
      const auto p = static_cast<std::int64_t>(plan.subtrees(group.rank()).size());
      const Tensor sum = exchanged(plan, group, {ops::filled({p, 3}, -0.0F)})[0];
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(std::signbit(ops::read(sum)[i]));
    });
  }
}

// --- the border with autograd

TEST(Context, SumsTheUsesOfATensorInUseOrder) {
  const Plan plan({.lanes = 1, .samples_per_lane = 1}, 1);
  for (const std::vector<std::size_t>& order :
       std::vector<std::vector<std::size_t>>{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}}) {
    comm::run_local(1, [&](comm::Group& group) {
      Context context(plan, group);
      Tensor root = ops::filled({1, 1}, 1.0F);
      root.requires_grad_(true);
      std::vector<Tensor> uses;
      for (int use = 0; use < 3; ++use) uses.push_back(context.enter(root));
      ASSERT_EQ(context.entered().size(), 1u);
      // The gradient of use k is factor k; (1e8 + 1) - 1e8 is 0 in this order and 1 in another.
      const float factors[] = {1e8F, 1, -1e8F};
      std::vector<Tensor> y(3);
      for (const std::size_t k : order) {
        y[k] = ops::linear(context.lanes(), ops::filled({1, 1}, factors[k]), uses[k], Tensor());
      }
      const Tensor sum = ops::row_sums(ops::add(ops::add(y[0], y[1]), y[2]));
      const PhaseGradients result =
          backward(context, ops::lane_sums(context.lanes(), sum), 1, {root});
      EXPECT_EQ(*ops::read(result.gradients[0]), 0.0F);
    });
  }
}

TEST(Context, RecordsNothingWithoutNeed) {
  const Plan plan({.lanes = 2, .samples_per_lane = 1}, 1);
  comm::run_local(1, [&](comm::Group& group) {
    Context context(plan, group);
    Tensor constant = ops::filled({3}, 1.0F), wanted = ops::filled({3}, 1.0F);
    wanted.requires_grad_(true);
    EXPECT_FALSE(context.enter(constant).requires_grad());
    {
      const at::NoGradGuard no_grad;
      EXPECT_FALSE(context.enter(wanted).requires_grad());
    }
    EXPECT_TRUE(context.entered().empty());
    EXPECT_TRUE(context.enter(wanted).requires_grad());
  });
  Context evaluation = Context::evaluation(7);
  Tensor root = ops::filled({3}, 1.0F);
  root.requires_grad_(true);
  EXPECT_FALSE(evaluation.training());
  EXPECT_FALSE(evaluation.enter(root).requires_grad());
  EXPECT_EQ(evaluation.lanes().samples(), 7);
  EXPECT_THROW(evaluation.group(), Error);
}

struct Model {
  Tensor w, u, v, gamma, beta, out;

  explicit Model(std::uint32_t key) {
    const auto values = [&](at::IntArrayRef sizes) {
      Tensor x = ops::empty(sizes);
      ops::device().fill_normal({.key = {key++, 6}, .micro = 0}, 0, 1, x.numel(), ops::write(x));
      return x;
    };
    w = values({4, 6}), u = values({4}), v = values({6});
    gamma = values({6}), beta = values({6}), out = values({6, 3});
    for (Tensor* parameter : {&w, &gamma, &beta, &out}) parameter->requires_grad_(true);
    ops::power_iteration(w, u, v);
  }
};

// A phase with a parameter graph (w / sigma), a parameter used twice and a norm.
PhaseGradients phase(const Plan& plan, comm::Group& group, std::vector<Division> kept = {}) {
  Model m(11);
  Context context(plan, group);
  const auto& lanes = context.lanes();
  Tensor x = ops::empty({lanes.samples(), 4});
  for (std::int64_t i = 0; i < lanes.samples(); ++i) {
    const std::int64_t draw = plan.first_draw(group.rank()) + i;
    ops::device().fill_normal({.key = {99, 6}, .micro = 0}, static_cast<std::uint64_t>(draw), 1, 4,
                              ops::write(x) + 4 * i);
  }
  const Tensor w = context.enter(ops::spectral_normalize(m.w, m.u, m.v));
  const Tensor hidden = ops::group_norm(lanes, ops::linear(lanes, x, w, context.enter(m.beta)),
                                        context.enter(m.gamma), context.enter(m.beta), 2, 1e-5F,
                                        ops::Activation::kSilu);
  const Tensor loss = ops::row_squares(ops::linear(lanes, hidden, context.enter(m.out), Tensor()));
  Backward sums(context, {context.portion()}, 1.0F / static_cast<float>(plan.batch()),
                {m.w, m.gamma, m.beta, m.out}, std::move(kept));
  sums.portion(context, ops::lane_sums(lanes, loss));
  return sums.finish();
}

TEST(Backward, GivesTheSameBitsForEveryWorld) {
  std::optional<Whole> expected;
  for (const int world : {1, 2, 3, 4, 5, 6}) {
    const Plan plan({.lanes = 6, .samples_per_lane = 3}, world);
    std::vector<Whole> results(static_cast<std::size_t>(world));
    comm::run_local(world, [&](comm::Group& group) {
      const PhaseGradients result = phase(plan, group);
      Whole& mine = results[static_cast<std::size_t>(group.rank().value)];
      mine = floats_of(result.gradients);
      mine.push_back({result.loss_sum()});
    });
    if (!expected) expected = results[0];
    for (const Whole& result : results) EXPECT_TRUE(same_bits(result, *expected)) << world;
  }
}

// Of w's gradient, which comes out of the parameter graph, as of the others, which are exchanged.
TEST(Backward, KeepsSlicesOfTheWholeGradients) {
  const Plan plan({.lanes = 6, .samples_per_lane = 3}, 3);
  const std::vector<Division> kept = plan.partition().divide({24, 6, 6, 18});
  comm::run_local(3, [&](comm::Group& group) {
    const Whole whole = floats_of(phase(plan, group).gradients),
                mine = floats_of(phase(plan, group, kept).gradients);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const Slice& slice = kept[i].slice(group.rank());
      EXPECT_TRUE(
          same_bits(mine[i], Floats(whole[i].begin() + slice.first, whole[i].begin() + slice.last)))
          << i;
    }
  });
}

// As a last bias under a gradient penalty: one use of two has no gradient, and nothing is added.
TEST(Backward, LeavesOutAUseThatDoesNotReachTheLoss) {
  for (const int world : {1, 2, 3}) {
    const Plan plan({.lanes = 3, .samples_per_lane = 2}, world);
    comm::run_local(world, [&](comm::Group& group) {
      Context context(plan, group);
      Tensor w = ops::filled({2, 1}, 1.0F);
      w.requires_grad_(true);
      const Tensor x = ops::filled({context.lanes().samples(), 2}, -0.0F);
      const Tensor unused = ops::linear(context.lanes(), x, context.enter(w), Tensor());
      const Tensor y = ops::linear(context.lanes(), x, context.enter(w), Tensor());
      const Tensor loss = ops::lane_sums(context.lanes(), ops::row_sums(y));
      const PhaseGradients result = backward(context, loss, 1, {w});
      EXPECT_EQ(result.gradients[0].numel(), 2);
      EXPECT_EQ(*ops::read(result.gradients[0]), 0.0F);
    });
  }
}

// |d/dx sum(f(x w))|^2 with a curved f, z -> z^2: w's gradient is a sum over samples by x w, and
// another by d/dx.
Tensor curved_penalty(const Plan& plan, Rank rank, const numerics::LaneBlocks& lanes,
                      const Tensor& w) {
  Tensor x = ops::empty({lanes.samples(), 4});
  for (std::int64_t i = 0; i < lanes.samples(); ++i) {
    const std::int64_t draw = plan.first_draw(rank) + i;
    ops::device().fill_normal({.key = {98, 6}, .micro = 0}, static_cast<std::uint64_t>(draw), 1, 4,
                              ops::write(x) + 4 * i);
  }
  x.requires_grad_(true);
  const Tensor y = ops::row_squares(ops::linear(lanes, x, w, Tensor()));
  const Tensor slopes =
      ops::gradients({y}, {ops::filled(y.sizes(), 1.0F)}, {x}, /*create_graph=*/true)[0];
  return ops::lane_sums(lanes, ops::row_squares(slopes));
}

Tensor some_weight() {
  Tensor w = ops::empty({4, 5});
  ops::device().fill_normal({.key = {97, 6}, .micro = 0}, 0, 1, 20, ops::write(w));
  w.requires_grad_(true);
  return w;
}

// What the border is for: a leaf without it gets the two sums added before the exchange.
TEST(Border, TwoSumsThatMeetBeforeTheExchangeDependOnTheWorld) {
  std::vector<Whole> results;
  for (const int world : {1, 2}) {
    const Plan plan({.lanes = 4, .samples_per_lane = 3}, world);
    comm::run_local(world, [&](comm::Group& group) {
      const numerics::LaneBlocks lanes = plan.blocks(group.rank());
      Tensor leaf = some_weight().detach().unsqueeze(0).expand({lanes.partials(), 4, 5});
      leaf.requires_grad_(true);
      const Tensor loss = curved_penalty(plan, group.rank(), lanes, leaf);
      const Tensor partials =
          ops::gradients({loss}, {ops::filled(loss.sizes(), 1.0F)}, {leaf}, false)[0];
      const Whole whole = floats_of(exchanged(plan, group, {partials}));
      if (group.rank().value == 0) results.push_back(whole);
    });
  }
  EXPECT_FALSE(same_bits(results[0], results[1]));
}

std::string refused(const std::function<void(Context&, const Plan&, Rank, const Tensor& w)>& body,
                    int world) {
  const Plan plan({.lanes = 4, .samples_per_lane = 3}, world);
  try {
    comm::run_local(world, [&](comm::Group& group) {
      Context context(plan, group);
      const ops::Scope here("critic/hidden");
      body(context, plan, group.rank(), some_weight());
    });
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBug);
    return error.what();
  }
  return "was not refused";
}

TEST(Border, RefusesTwoSums) {
  for (const int world : {1, 2, 3}) {
    const std::string curved = refused(
        [](Context& context, const Plan& plan, Rank rank, const Tensor& w) {
          const Tensor loss = curved_penalty(plan, rank, context.lanes(), context.enter(w));
          backward(context, loss, 1, {w});
        },
        world);
    EXPECT_EQ(curved,
              "critic/hidden: two sums over samples meet in the gradient of one use of a parameter "
              "(4 x 5 elements): added before the exchange, they depend on the number of ranks "
              "(enter it once a use; under a gradient penalty use activations without curvature, "
              "such as leaky_relu)");
    const std::string forked = refused(
        [](Context& context, const Plan&, Rank, const Tensor& w) {
          const ops::Tensors two = ops::fork(context.enter(w), 2);
          const Tensor x = ops::filled({context.lanes().samples(), 4}, 0.5F);
          const Tensor y = ops::add(ops::linear(context.lanes(), x, two[0], Tensor()),
                                    ops::linear(context.lanes(), x, two[1], Tensor()));
          backward(context, ops::lane_sums(context.lanes(), ops::row_sums(y)), 1, {w});
        },
        world);
    EXPECT_EQ(forked, curved);
  }
}

TEST(Border, RefusesArithmeticOnPartials) {
  const std::string scaled = refused([](Context& context, const Plan&, Rank,
                                        const Tensor& w) { ops::scale(context.enter(w), 0.3F); },
                                     1);
  EXPECT_EQ(scaled,
            "critic/hidden: op 'scale' takes a parameter of the lane graph, but its gradient is no "
            "sum over samples: it would depend on the number of ranks (compute from parameters "
            "alone in prepare(), before they enter)");
}

TEST(Backward, RefusesAParameterThatTheLossDoesNotReach) {
  const Plan plan({.lanes = 1, .samples_per_lane = 2}, 1);
  comm::run_local(1, [&](comm::Group& group) {
    Context context(plan, group);
    Tensor used = ops::filled({2, 1}, 1.0F), forgotten = ops::filled({2, 1}, 1.0F);
    used.requires_grad_(true);
    forgotten.requires_grad_(true);
    const Tensor y =
        ops::linear(context.lanes(), ops::filled({2, 2}, 1.0F), context.enter(used), Tensor());
    const Tensor loss = ops::lane_sums(context.lanes(), ops::row_sums(y));
    try {
      backward(context, loss, 1, {used, forgotten});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kBug) << error.what();
    }
  });
}

}  // namespace
}  // namespace lockstep::lane
