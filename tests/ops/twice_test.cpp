// Gradients of gradients: right where an op promises them, refused where it does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/ops/ops.h"
#include "ops/finite_differences.h"

namespace lockstep::ops {
namespace {

using namespace lockstep::ops::testing;

class Twice : public ::testing::TestWithParam<LaneBlocks> {
 protected:
  const LaneBlocks& lanes() const { return GetParam(); }
  std::int64_t n() const { return lanes().samples(); }
  std::int64_t p() const { return lanes().partials(); }
};
INSTANTIATE_TEST_SUITE_P(Blocks, Twice,
                         ::testing::Values(LaneBlocks{3, {2, 1}}, LaneBlocks{2, {1, 1}},
                                           LaneBlocks{3, {1}}));

TEST_P(Twice, Linear) {
  expect_gradients_of_gradients(
      {values({n(), 2, 4}, 1), values({p(), 4, 3}, 2), values({p(), 3}, 3)},
      [&](const Tensors& in) { return linear(lanes(), in[0], in[1], in[2]); });
}

TEST_P(Twice, Conv2d) {
  expect_gradients_of_gradients(
      {values({n(), 3, 3, 2}, 1), values({p(), 3, 3, 2, 2}, 2), values({p(), 2}, 3)},
      [&](const Tensors& in) {
        return conv2d(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1});
      });
}

TEST_P(Twice, Conv2dTranspose) {
  expect_gradients_of_gradients(
      {values({n(), 2, 1, 2}, 1), values({p(), 3, 3, 1, 2}, 2), values({p(), 1}, 3)},
      [&](const Tensors& in) {
        return conv2d_transpose(lanes(), in[0], in[1], in[2], {.stride = 2, .pad = 1}, 4, 2);
      });
}

TEST_P(Twice, LaneSumsOfProducts) {
  // A linear op's gradient does not depend on its input; a product makes its second visible.
  expect_gradients_of_gradients({values({n()}, 1), values({n()}, 2)}, [&](const Tensors& in) {
    return lane_sums(lanes(), ops::multiply(in[0], in[1]));
  });
}

TEST(TwiceOf, Products) {
  const Tensor a = values({3, 2, 5}, 1), b = values({3, 2, 5}, 2), v = values({3}, 3);
  expect_gradients_of_gradients({a, b},
                                [](const Tensors& in) { return ops::multiply(in[0], in[1]); });
  expect_gradients_of_gradients({a, v}, [](const Tensors& in) { return scale_rows(in[0], in[1]); });
  expect_gradients_of_gradients({a, b}, [](const Tensors& in) { return row_dots(in[0], in[1]); });
  expect_gradients_of_gradients({a}, [](const Tensors& in) { return row_squares(in[0]); });
}

TEST(TwiceOf, LinearOps) {
  const Tensor a = values({3, 2, 5}, 1), b = values({3, 2, 5}, 2);
  expect_gradients_of_gradients({a, b}, [](const Tensors& in) { return ops::add(in[0], in[1]); });
  expect_gradients_of_gradients({a, b},
                                [](const Tensors& in) { return ops::subtract(in[0], in[1]); });
  expect_gradients_of_gradients({a}, [](const Tensors& in) { return scale(in[0], 1.75F); });
  expect_gradients_of_gradients({a},
                                [](const Tensors& in) { return ops::leaky_relu(in[0], 0.2F); });
  expect_gradients_of_gradients({a}, [](const Tensors& in) { return ops::row_sums(in[0]); });
  expect_gradients_of_gradients({a}, [](const Tensors& in) {
    return ops::reshape(in[0], {3, 10});
  });
  expect_gradients_of_gradients({values({3, 2, 3, 2}, 3)},
                                [](const Tensors& in) { return spatial_sums(in[0]); });
  expect_gradients_of_gradients({a, values({3, 2, 2}, 4)},
                                [](const Tensors& in) { return concat_channels(in[0], in[1]); });
}

// The same ops with something nonlinear behind them, so that the second derivative passes through
// both their forward and their transpose.
TEST(TwiceOf, LinearOpsBeforeASquare) {
  const Tensor a = values({3, 2, 4}, 1), b = values({3, 2, 4}, 2);
  const auto through = [&](const Tensors& inputs, const std::function<Tensor(const Tensors&)>& f) {
    expect_gradients_of_gradients(inputs, [&](const Tensors& in) {
      const Tensors two = fork(f(in), 2);
      return ops::multiply(two[0], two[1]);
    });
  };
  through({a, b}, [](const Tensors& in) { return ops::add(in[0], in[1]); });
  through({a, b}, [](const Tensors& in) { return ops::subtract(in[0], in[1]); });
  through({a}, [](const Tensors& in) { return scale(in[0], 0.75F); });
  through({a}, [](const Tensors& in) { return ops::leaky_relu(in[0], 0.2F); });
  through({a}, [](const Tensors& in) { return ops::row_sums(in[0]); });
  through({a}, [](const Tensors& in) { return ops::reshape(in[0], {3, 8}); });
  through({a, b}, [](const Tensors& in) { return concat_channels(in[0], in[1]); });
  through({values({3, 2, 3, 2}, 3)}, [](const Tensors& in) { return spatial_sums(in[0]); });
  through({values({2, 4, 6, 1}, 5)}, [](const Tensors& in) { return patches(in[0], 2); });
  through({values({2, 6, 4}, 6)}, [](const Tensors& in) { return from_patches(in[0], 2, 4, 6); });
  through({values({6}, 4)}, [](const Tensors& in) { return lane_sums({3, {1, 1}}, in[0]); });
}

TEST(TwiceOf, AForkOfThree) {
  expect_gradients_of_gradients({values({3, 2}, 1)}, [](const Tensors& in) {
    const Tensors three = fork(in[0], 3);
    return ops::multiply(ops::multiply(three[0], three[1]), three[2]);
  });
}

// Throws Error(kBug) that names the op.
void expect_once(const std::string& name, Tensor x, const std::function<Tensor(const Tensor&)>& f) {
  x.requires_grad_(true);
  const Tensor out = f(x);
  try {
    gradients({out}, {values(out.sizes(), 9)}, {x}, /*create_graph=*/true);
    FAIL() << name << " recorded nothing and said nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBug) << name;
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'" + name + "'"));
  }
  EXPECT_NO_THROW(gradients({f(x)}, {values(out.sizes(), 9)}, {x}, false)) << name;
}

TEST(OnceOnly, OpsRefuseGradientsOfGradients) {
  const LaneBlocks lanes = two_partials();
  const Tensor gamma = entered(values({6}, 1), lanes), beta = entered(values({6}, 2), lanes);
  const Tensor picture = values({9, 2, 3, 6}, 3), rows = values({9, 6}, 4);
  expect_once("silu", rows, [](const Tensor& x) { return ops::silu(x); });
  expect_once("group_norm", copy_of(picture), [&](const Tensor& x) {
    return group_norm(lanes, x, gamma, beta, 3, 1e-5F, Activation::kSilu);
  });
  expect_once("layer_norm", copy_of(rows),
              [&](const Tensor& x) { return layer_norm(lanes, x, gamma, beta, 1e-5F); });
  const Tensor weights = entered(values({8, 3}, 8), lanes);
  expect_once("linear", copy_of(picture), [&](const Tensor& x) {
    return linear(lanes, {x, values({9, 2, 3, 2}, 9)}, weights, {});
  });
  expect_once("attention", values({3, 4, 6}, 6), [](const Tensor& x) { return attention(x, 2); });
  expect_once("adaptive_layer_norm", values({3, 4, 6}, 6), [](const Tensor& x) {
    return adaptive_layer_norm(x, values({3, 12}, 7), 1e-5F);
  });
  expect_once("gated_add", values({3, 4, 6}, 6), [](const Tensor& x) {
    return gated_add(values({3, 4, 6}, 7), x, values({3, 6}, 8));
  });
  expect_once("upsample_nearest", copy_of(picture),
              [](const Tensor& x) { return upsample_nearest(x, 4, 6); });
  expect_once("mean_squared_error", copy_of(rows), [](const Tensor& x) {
    return mean_squared_error(x, values({9, 6}, 7));
  });
  expect_once("spectral_normalize", values({4, 3}, 8), [](const Tensor& x) {
    return spectral_normalize(x, values({4}, 9, false), values({3}, 10, false));
  });
}

}  // namespace
}  // namespace lockstep::ops
