// Integer products as ops: which layers have them, of what groups, and their gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/ops.h"
#include "ops/finite_differences.h"
#include "ops/slope.h"

namespace lockstep::ops {
namespace {

using namespace lockstep::ops::testing;
using numerics::ConvShape;

const LaneBlocks kLanes{2, {2, 1}};  // 6 samples, two partials

bool same(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.sizes() == y.sizes() &&
         std::memcmp(x.const_data_ptr(), y.const_data_ptr(),
                     static_cast<std::size_t>(x.numel()) * sizeof(float)) == 0;
}

struct Integers {
  Integers(const Tensor& x, std::int64_t groups)
      : q(static_cast<std::size_t>(x.numel())), exponents(static_cast<std::size_t>(groups)) {
    const std::int64_t c = x.size(-1);
    device().round_groups(groups, x.numel() / groups / c, c, read(x), q.data(), exponents.data());
  }
  operator numerics::Rounded() const { return {q.data(), exponents.data()}; }
  std::vector<std::int16_t> q;
  std::vector<std::int32_t> exponents;
};

// [P, …], the same values P times, as parameters enter.
Tensor repeated(const Tensor& w) {
  std::vector<std::int64_t> sizes = w.sizes().vec(), strides = w.strides().vec();
  sizes.insert(sizes.begin(), kLanes.partials());
  strides.insert(strides.begin(), 0);
  return w.as_strided(sizes, strides);
}

TEST(IntegerOps, ConvolutionAndItsGradientsAreTheKernels) {
  const ConvShape s{
      .n = 6, .h = 6, .w = 5, .in = 9, .out = 8, .kh = 3, .kw = 3, .stride = 1, .pad = 1};
  const Tensor x = leaf(values({6, 6, 5, 9}, 1)), w = values({3, 3, 9, 8}, 2), b = values({8}, 3);
  const Tensor entered = leaf(repeated(w)), bias = leaf(repeated(b)), dy = values({6, 6, 5, 8}, 4);
  const NumericsScope integer({.integer = true});
  const Tensor y = conv2d(kLanes, x, entered, bias, {.stride = 1, .pad = 1});
  const Tensors found = gradients({y}, {dy}, {x, entered, bias}, false);

  Tensor wanted_y = empty(y.sizes()), wanted_dx = empty(x.sizes()),
         wanted_dw = empty({2, 3, 3, 9, 8});
  device().integer_conv2d(s, Integers(x, 6), Integers(w, 1), read(b), write(wanted_y));
  device().integer_conv2d_input_grad(s, Integers(dy, 6), Integers(w, 1), nullptr, write(wanted_dx));
  device().integer_conv2d_weight_grad(s, kLanes, Integers(x, 6), Integers(dy, 6), write(wanted_dw));
  EXPECT_TRUE(same(y, wanted_y));
  EXPECT_TRUE(same(found[0], wanted_dx));
  EXPECT_TRUE(same(found[1], wanted_dw));
  // The bias's gradient is a sum of dy as it was.
  Tensor wanted_db = empty({2, 8});
  device().lane_column_sums(kLanes, 30, 8, read(dy), write(wanted_db));
  EXPECT_TRUE(same(found[2], wanted_db));

  const NumericsScope plain({});
  EXPECT_FALSE(same(conv2d(kLanes, x, entered, bias, {.stride = 1, .pad = 1}), y));
}

TEST(IntegerOps, ALinearLayerIsAConvolutionOfOneColumn) {
  const ConvShape s{.n = 6, .h = 8, .w = 1, .in = 10, .out = 12};
  const Tensor x = leaf(values({6, 4, 2, 10}, 1)), w = values({10, 12}, 2);
  const Tensor entered = leaf(repeated(w)), dy = values({6, 4, 2, 12}, 3);
  const NumericsScope integer({.integer = true});
  const Tensor y = linear(kLanes, x, entered, {});
  const Tensors found = gradients({y}, {dy}, {x, entered}, false);
  Tensor wanted_y = empty(y.sizes()), wanted_dx = empty(x.sizes()), wanted_dw = empty({2, 10, 12});
  device().integer_conv2d(s, Integers(x, 6), Integers(w, 1), nullptr, write(wanted_y));
  device().integer_conv2d_input_grad(s, Integers(dy, 6), Integers(w, 1), nullptr, write(wanted_dx));
  device().integer_conv2d_weight_grad(s, kLanes, Integers(x, 6), Integers(dy, 6), write(wanted_dw));
  EXPECT_TRUE(same(y, wanted_y));
  EXPECT_TRUE(same(found[0], wanted_dx));
  EXPECT_TRUE(same(found[1], wanted_dw));
}

// A layer's three products, with integers allowed and not.
bool stays_float(const std::function<Tensor(const Tensor&, const Tensor&)>& layer,
                 const at::IntArrayRef x_sizes, const at::IntArrayRef w_sizes) {
  const Tensor x = leaf(values(x_sizes, 1)), w = leaf(repeated(values(w_sizes, 2)));
  const auto all = [&](bool integer) {
    const NumericsScope scope({.integer = integer});
    const Tensor y = layer(x, w);
    Tensors results = gradients({y}, {values(y.sizes(), 3)}, {x, w}, false);
    results.push_back(bare(y));
    return results;
  };
  const Tensors floats = all(false), integers = all(true);
  bool all_same = true, any_same = false;
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const bool unchanged = same(floats[i], integers[i]);
    all_same = all_same && unchanged;
    any_same = any_same || unchanged;
  }
  EXPECT_EQ(all_same, any_same) << "of a layer's products some are integer";
  return all_same;
}

TEST(IntegerOps, NarrowLayersStayFloat) {
  const auto linear_layer = [](const Tensor& x, const Tensor& w) {
    return linear(kLanes, x, w, {});
  };
  EXPECT_FALSE(stays_float(linear_layer, {6, 8, 8}, {8, 8}));
  EXPECT_TRUE(stays_float(linear_layer, {6, 7, 8}, {8, 8}));
  EXPECT_TRUE(stays_float(linear_layer, {6, 8, 7}, {7, 8}));
  EXPECT_TRUE(stays_float(linear_layer, {6, 8, 8}, {8, 7}));
  EXPECT_TRUE(stays_float(linear_layer, {6, 64}, {64, 64}));
  const auto conv = [](const Tensor& x, const Tensor& w) {
    return conv2d(kLanes, x, w, {}, {.stride = 2, .pad = 1});
  };
  EXPECT_FALSE(stays_float(conv, {6, 8, 4, 8}, {4, 4, 8, 8}));  // 4 x 2 positions
  EXPECT_TRUE(stays_float(conv, {6, 7, 4, 8}, {4, 4, 8, 8}));   // 3 x 2
}

TEST(IntegerOps, TransposedConvolutionsCountTheirInputsPositions) {
  const auto transposed = [](std::int64_t side) {
    return [side](const Tensor& x, const Tensor& w) {
      return conv2d_transpose(kLanes, x, w, {}, {.stride = 2, .pad = 1}, side, side);
    };
  };
  EXPECT_FALSE(stays_float(transposed(6), {6, 3, 3, 8}, {4, 4, 8, 8}));
  EXPECT_TRUE(stays_float(transposed(4), {6, 2, 2, 8}, {4, 4, 8, 8}));
}

// Slices that differ (gradients of weights as operands) round on their own.
TEST(IntegerOps, EverySliceOfAParameterIsAGroup) {
  Tensor w = values({2, 1, 1, 8, 8}, 1);
  device().scale(64, 1e-6F, read(w) + 64, write(w) + 64);
  const Tensor x = values({6, 3, 3, 8}, 2);
  const ConvShape s{.n = 2, .h = 3, .w = 3, .in = 8, .out = 8};
  const NumericsScope integer({.integer = true});
  const Tensor y = conv2d(kLanes, x, w, {}, {});
  const Tensor second = w.narrow(0, 1, 1).contiguous(), last = x.narrow(0, 4, 2).contiguous();
  Tensor wanted = empty({2, 3, 3, 8});
  device().integer_conv2d(s, Integers(last, 2), Integers(second, 1), nullptr, write(wanted));
  EXPECT_TRUE(same(y.narrow(0, 4, 2), wanted));
}

Tensor slope_by_weights(bool twice) {
  const NumericsScope integer({.integer = true});
  return testing::slope_by_weights(kLanes, leaf(values({6, 4, 4, 8}, 1)),
                                   leaf(repeated(values({3, 3, 8, 8}, 2))), twice);
}

TEST(IntegerOps, GradientsOfGradientsRoundAnew) {
  const ConvShape s{
      .n = 6, .h = 4, .w = 4, .in = 8, .out = 8, .kh = 3, .kw = 3, .stride = 1, .pad = 1};
  const Tensor w = values({3, 3, 8, 8}, 2), dy = values({6, 4, 4, 8}, 3);
  Tensor dx = empty({6, 4, 4, 8}), g = empty({6, 4, 4, 8}), wanted = empty({2, 3, 3, 8, 8});
  device().integer_conv2d_input_grad(s, Integers(dy, 6), Integers(w, 1), nullptr, write(dx));
  device().scale(dx.numel(), 2.0F, read(dx), write(g));
  device().integer_conv2d_weight_grad(s, kLanes, Integers(g, 6), Integers(dy, 6), write(wanted));
  EXPECT_TRUE(same(slope_by_weights(true), wanted));
}

TEST(IntegerOps, GradientsOfGradientsNeedTheValues) {
  try {
    slope_by_weights(false);
    FAIL() << "a gradient was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBug);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("TwiceScope"));
  }
}

TEST(IntegerOps, AttentionStaysFloat) {
  const Tensor qkv = values({6, 16, 48}, 1);
  const Tensor plain = attention(qkv, 2);
  const NumericsScope integer({.integer = true});
  EXPECT_TRUE(same(attention(qkv, 2), plain));
}

}  // namespace
}  // namespace lockstep::ops
