// Who adds gradients, and in which order.
#include "lockstep/ops/record.h"

#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lockstep/core/error.h"
#include "lockstep/ops/ops.h"
#include "lockstep/ops/view.h"
#include "ops/additions.h"
#include "ops/finite_differences.h"

namespace lockstep::ops {
namespace {

using namespace lockstep::ops::testing;

// x used once a gradient, by consumers made in `order`: the engine runs the youngest first.
float forked_gradient(const std::vector<float>& grads, const std::vector<std::size_t>& order) {
  Tensor x = filled({1}, 1.0F);
  x.requires_grad_(true);
  const Tensors uses = fork(x, static_cast<int>(grads.size()));
  Tensors outputs(grads.size()), ones(grads.size(), filled({1}, 1.0F));
  for (const std::size_t use : order) outputs[use] = scale(uses[use], grads[use]);
  return *read(gradients(outputs, ones, {x}, false)[0]);
}

TEST(Fork, AddsInUseOrderWhateverOrderTheConsumersRanIn) {
  for (const std::vector<float>& grads :
       std::vector<std::vector<float>>{{1e8F, 1, -1e8F},
                                       {1e8F, -1e8F, 1},
                                       {1, 1e8F, -1e8F},
                                       {1e8F, 1, -1e8F, 3},
                                       {3, 1e8F, 1, -1e8F, 0.5F}}) {
    float expected = grads[0];
    for (std::size_t i = 1; i < grads.size(); ++i) expected += grads[i];
    std::vector<std::size_t> order(grads.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    do {
      EXPECT_EQ(forked_gradient(grads, order), expected) << ::testing::PrintToString(order);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Fork, LeavesOutUsesThatGetNoGradient) {
  Tensor x = filled({1}, 1.0F);
  x.requires_grad_(true);
  const Tensors uses = fork(x, 4);
  const Tensor a = scale(uses[1], -0.0F), b = scale(uses[3], -0.0F);
  const Tensors grads =
      gradients({a, b}, {filled({1}, 1.0F), filled({1}, 1.0F)}, {x}, /*create_graph=*/false);
  EXPECT_TRUE(std::signbit(*read(grads[0])));  // -0 + -0: no +0 took part
}

TEST(Fork, IsTheTensorItselfWithoutHistory) {
  const Tensor x = filled({2}, 1.0F);
  for (const Tensor& use : fork(x, 3)) EXPECT_TRUE(use.is_same(x));
}

TEST(Record, KeepsNoHistoryThatNobodyNeeds) {
  Tensor x = filled({2}, 1.0F);
  EXPECT_FALSE(scale(x, 2).requires_grad());
  x.requires_grad_(true);
  EXPECT_TRUE(scale(x, 2).requires_grad());
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(scale(x, 2).requires_grad());
}

TEST(Record, InputsThatAreNotReachedGetUndefinedGradients) {
  Tensor x = filled({2}, 1.0F), other = filled({2}, 1.0F);
  x.requires_grad_(true);
  other.requires_grad_(true);
  const Tensors grads = gradients({scale(x, 2)}, {filled({2}, 1.0F)}, {x, other}, false);
  EXPECT_TRUE(grads[0].defined());
  EXPECT_FALSE(grads[1].defined());
}

// The engine would sum a [2, 3] gradient for a [3] input, by LibTorch.
TEST(Record, RefusesGradientsThatDoNotFit) {
  Tensor x = filled({3}, 1.0F);
  x.requires_grad_(true);
  for (const Tensor& wrong :
       {filled({2, 3}, 1.0F), filled({1}, 1.0F), at::empty({3}, at::kDouble)}) {
    const Tensor y =
        record("wrong", {x}, filled({3}, 1.0F), Differentiable::kTwice,
               [&](const Tensor&, const std::vector<bool>&) -> Tensors { return {wrong}; });
    try {
      gradients({y}, {filled({3}, 1.0F)}, {x}, false);
      ADD_FAILURE() << wrong.sizes();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("op 'wrong' does not fit its input 0"));
    }
  }
}

TEST(Read, RefusesWhatKernelsCannotTake) {
  EXPECT_THROW(read(filled({3, 2}, 1.0F).transpose(0, 1)), Error);
  EXPECT_THROW(read(at::empty({2}, at::kDouble)), Error);
  EXPECT_THROW(read(Tensor()), Error);
}

TEST(Host, LacksMemoryAsOpsDo) {
  const std::int64_t large = std::int64_t{1} << 50;
  EXPECT_THROW(empty({large}), std::bad_alloc);
  EXPECT_THROW(to_host(view(empty({1}), {large}, {0})), std::bad_alloc);
}

TEST(Engine, AddsWhereATensorHasTwoConsumersWithoutAFork) {
  Tensor x = filled({2}, 1.0F);
  x.requires_grad_(true);
  const Tensor a = scale(x, 2), b = scale(x, 3);
  const Additions additions;
  gradients({a, b}, {filled({2}, 1.0F), filled({2}, 1.0F)}, {x}, false);
  EXPECT_GE(additions.count(), 1) << "the observer sees nothing";
}

// A critic with a gradient penalty, on a rank with several partials: every sum is ours.
TEST(Engine, NeverAddsInAGradientPenalty) {
  const LaneBlocks lanes = two_partials();
  Tensors parameters{entered(values({4, 5}, 1), lanes), entered(values({5}, 2), lanes),
                     entered(values({5, 1}, 3), lanes), entered(values({1}, 4), lanes)};
  for (Tensor& p : parameters) p.requires_grad_(true);
  Tensor x = values({9, 4}, 5);
  x.requires_grad_(true);

  const Additions additions;
  const Tensor hidden = ops::leaky_relu(linear(lanes, x, parameters[0], parameters[1]), 0.2F);
  const Tensors scores =
      fork(ops::row_sums(linear(lanes, hidden, parameters[2], parameters[3])), 2);
  const Tensor slopes = gradients({scores[0]}, {filled({9}, 1.0F)}, {x}, /*create_graph=*/true)[0];
  const Tensor loss = lane_sums(lanes, ops::add(scores[1], row_squares(slopes)));
  const Tensors grads = gradients({loss}, {filled({2}, 1.0F)}, parameters, false);
  EXPECT_EQ(additions.count(), 0);
  for (const Tensor& grad : grads) EXPECT_TRUE(grad.defined());
}

}  // namespace
}  // namespace lockstep::ops
