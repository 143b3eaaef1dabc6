// The gradient of every op against finite differences, on the blocks of several world sizes.
#include <gtest/gtest.h>

#include <set>

#include "lockstep/ops/ops.h"
#include "ops/finite_differences.h"

namespace lockstep::ops {
namespace {

using namespace lockstep::ops::testing;

class Gradients : public ::testing::TestWithParam<LaneBlocks> {
 protected:
  const LaneBlocks& lanes() const { return GetParam(); }
  std::int64_t n() const { return lanes().samples(); }
};
INSTANTIATE_TEST_SUITE_P(Blocks, Gradients, ::testing::ValuesIn(all_blocks()));

TEST_P(Gradients, OfLinear) {
  expect_gradients(lanes(),
                   {{values({n(), 5}, 1)}, parameter(values({5, 3}, 2)), parameter(values({3}, 3))},
                   [&](const Tensors& in) { return linear(lanes(), in[0], in[1], in[2]); });
  expect_gradients(lanes(), {{values({n(), 2, 3}, 4)}, parameter(values({3, 4}, 5))},
                   [&](const Tensors& in) { return linear(lanes(), in[0], in[1], Tensor()); });
}

TEST_P(Gradients, OfConv2d) {
  expect_gradients(
      lanes(),
      {{values({n(), 3, 5, 2}, 1)}, parameter(values({3, 3, 2, 3}, 2)), parameter(values({3}, 3))},
      [&](const Tensors& in) {
        return conv2d(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1});
      });
  expect_gradients(
      lanes(), {{values({n(), 3, 2, 2}, 4)}, parameter(values({3, 3, 2, 1}, 5))},
      [&](const Tensors& in) { return conv2d(lanes(), in[0], in[1], Tensor(), {.pad = 1}); });
  expect_gradients(lanes(),
                   {{values({n(), 3, 2, 2}, 4)},
                    parameter(values({3, 3, 2, 3}, 5)),
                    {values({n(), 3}, 6)},
                    {values({n(), 3, 2, 3}, 7)}},
                   [&](const Tensors& in) {
                     return conv2d(lanes(), in[0], in[1], Tensor(), {.pad = 1},
                                   {.rows = in[2], .values = in[3]});
                   });
}

TEST_P(Gradients, OfLinearAndNormOfTwoSides) {
  const Input left{values({n(), 2, 3, 3}, 1)}, right{values({n(), 2, 3, 5}, 2)};
  expect_gradients(lanes(), {left, right, parameter(values({8, 3}, 3)), parameter(values({3}, 4))},
                   [&](const Tensors& in) {
                     return linear(lanes(), {in[0], in[1]}, in[2], in[3]);
                   });
  expect_gradients(
      lanes(), {left, right, parameter(values({8}, 5)), parameter(values({8}, 6))},
      [&](const Tensors& in) {
        return group_norm(lanes(), {in[0], in[1]}, in[2], in[3], 4, 1e-1F, Activation::kSilu);
      });
}

TEST_P(Gradients, OfConv2dTranspose) {
  // 5 x 4 with stride 2 and padding 1 has 3 x 2 positions.
  expect_gradients(
      lanes(),
      {{values({n(), 3, 2, 2}, 1)}, parameter(values({3, 3, 3, 2}, 2)), parameter(values({3}, 3))},
      [&](const Tensors& in) {
        return conv2d_transpose(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1}, 5, 4);
      });
}

TEST_P(Gradients, OfNorms) {
  for (const Activation activation : {Activation::kNone, Activation::kSilu}) {
    expect_gradients(
        lanes(),
        {{values({n(), 2, 3, 6}, 1)}, parameter(values({6}, 2)), parameter(values({6}, 3))},
        [&](const Tensors& in) {
          return group_norm(lanes(), in[0], in[1], in[2], 2, 1e-1F, activation);
        });
  }
  expect_gradients(
      lanes(), {{values({n(), 2, 5}, 4)}, parameter(values({5}, 5)), parameter(values({5}, 6))},
      [&](const Tensors& in) { return layer_norm(lanes(), in[0], in[1], in[2], 1e-1F); });
}

TEST_P(Gradients, OfLaneSums) {
  expect_gradients(lanes(), {{values({n()}, 1)}},
                   [&](const Tensors& in) { return lane_sums(lanes(), in[0]); });
}

// Without parameters, lanes do not matter.
void expect(const std::vector<Input>& inputs, const std::function<Tensor(const Tensors&)>& f) {
  expect_gradients({3, {1}}, inputs, f);
}

TEST(GradientsOf, Pointwise) {
  const Input a{values({3, 5, 7}, 1)}, b{values({3, 5, 7}, 2)};
  expect({a, b}, [](const Tensors& in) { return ops::add(in[0], in[1]); });
  expect({a, b}, [](const Tensors& in) { return ops::subtract(in[0], in[1]); });
  expect({a, b}, [](const Tensors& in) { return ops::multiply(in[0], in[1]); });
  expect({a}, [](const Tensors& in) { return scale(in[0], -1.75F); });
  expect({a}, [](const Tensors& in) { return ops::leaky_relu(in[0], 0.2F); });
  expect({a}, [](const Tensors& in) { return ops::leaky_relu(in[0], 0.0F); });
}

TEST(GradientsOf, RowsAndShapes) {
  const Input x{values({3, 2, 3, 5}, 1)};
  expect({x, {values({3}, 2)}}, [](const Tensors& in) { return scale_rows(in[0], in[1]); });
  expect({x}, [](const Tensors& in) { return ops::row_sums(in[0]); });
  expect({x, {values({3, 2, 3, 5}, 5)}}, [](const Tensors& in) { return row_dots(in[0], in[1]); });
  expect({x}, [](const Tensors& in) { return row_squares(in[0]); });
  expect({x}, [](const Tensors& in) { return spatial_sums(in[0]); });
  expect({x}, [](const Tensors& in) { return ops::reshape(in[0], {3, 30}); });
  expect({x, {values({3, 2, 3, 2}, 3)}},
         [](const Tensors& in) { return concat_channels(in[0], in[1]); });
  expect({{values({3, 4, 6, 2}, 4)}}, [](const Tensors& in) { return patches(in[0], 2); });
  expect({{values({3, 6, 8}, 4)}}, [](const Tensors& in) { return from_patches(in[0], 2, 4, 6); });
  expect({x}, [](const Tensors& in) { return upsample_nearest(in[0], 4, 5); });
  expect({x}, [](const Tensors& in) { return upsample_nearest(in[0], 3, 3); });
}

TEST(GradientsOf, EveryUnary) {
  using numerics::Unary;
  // Away from 0, where the derivatives of high order of some explode.
  Tensor large = values({3, 11}, 2, /*sign=*/false);
  for (std::int64_t i = 0; i < large.numel(); ++i) write(large)[i] += 0.5F;
  const std::set above_zero = {Unary::kLog, Unary::kSqrt, Unary::kRsqrt};
  for (const Unary op : numerics::kEveryUnary) {
    SCOPED_TRACE(numerics::name(op));
    expect({{above_zero.contains(op) ? large : values({3, 11}, 1)}},
           [op](const Tensors& in) { return unary(op, in[0]); });
  }
}

TEST(GradientsOf, Attention) {
  for (const std::int64_t heads : {1, 2, 3}) {
    expect({{values({3, 5, 18}, 1)}},
           [heads](const Tensors& in) { return attention(in[0], heads); });
  }
  expect({{values({3, 1, 6}, 1)}}, [](const Tensors& in) { return attention(in[0], 2); });
}

TEST(GradientsOf, AdaptiveLayerNormAndGates) {
  const Input x{values({3, 4, 6}, 1)};
  expect({x, {values({3, 12}, 2)}},
         [](const Tensors& in) { return adaptive_layer_norm(in[0], in[1], 1e-1F); });
  expect({x, {values({3, 4, 6}, 3)}, {values({3, 6}, 4)}},
         [](const Tensors& in) { return gated_add(in[0], in[1], in[2]); });
}

TEST(GradientsOf, MeanSquaredErrorToItsFirstArgument) {
  const Tensor target = values({3, 2, 5}, 2);
  expect({{values({3, 2, 5}, 1)}},
         [&](const Tensors& in) { return mean_squared_error(in[0], target); });
}

TEST(GradientsOf, SpectralNormalize) {
  const Tensor w = values({3, 2, 5}, 1);  // a 6 x 5 matrix
  Tensor u = values({6}, 2, false), v = values({5}, 3, false);
  for (int i = 0; i < 5; ++i) power_iteration(w, u, v);
  expect({{w}}, [&](const Tensors& in) { return spectral_normalize(in[0], u, v); });
}

}  // namespace
}  // namespace lockstep::ops
