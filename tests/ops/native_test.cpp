// Native numerics: LibTorch's kernels give our ops' values and gradients (nearly: their order of
// sums is another), and bits that do not depend on how lanes fall to ranks, on threads or on where
// in memory a lane lies.
#include "ops/native.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <new>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/ops.h"
#include "ops/finite_differences.h"
#include "ops/slope.h"

namespace lockstep::ops {
namespace {

using namespace lockstep::ops::testing;

constexpr std::int64_t kEach = 3;  // samples of a lane

// An op under test: of data [samples, …] and parameters [P, …].
struct Case {
  const char* name;
  std::vector<std::int64_t> sample;                   // shape of one sample
  std::vector<std::vector<std::int64_t>> parameters;  // shapes
  std::function<Tensor(const LaneBlocks&, const Tensors&)> op;
  bool adds = false;  // behind the product, in float32
};

// What LibTorch computes.
const std::vector<Case>& products() {
  static const std::vector<Case> all = {
      {"linear",
       {2, 5},
       {{5, 3}, {3}},
       [](const LaneBlocks& l, const Tensors& in) { return linear(l, in[0], in[1], in[2]); }},
      {"linear_without_bias",
       {5},
       {{5, 3}},
       [](const LaneBlocks& l, const Tensors& in) { return linear(l, in[0], in[1], Tensor()); }},
      {"linear_of_two_sides",
       {2, 5},
       {{10, 3}, {3}},
       [](const LaneBlocks& l, const Tensors& in) {
         const auto x = fork(in[0], 2);
         return linear(l, {x[0], ops::silu(x[1])}, in[1], in[2]);
       }},
      {"conv2d",
       {5, 4, 2},
       {{3, 3, 2, 3}, {3}},
       [](const LaneBlocks& l, const Tensors& in) {
         return conv2d(l, in[0], in[1], in[2], {.stride = 2, .pad = 1});
       }},
      {"conv2d_of_one_channel",
       {5, 4, 1},
       {{3, 3, 1, 1}, {1}},
       [](const LaneBlocks& l, const Tensors& in) {
         return conv2d(l, in[0], in[1], in[2], {.stride = 1, .pad = 1});
       }},
      {"conv2d_with_values_behind",
       {3, 4, 2},
       {{3, 3, 2, 2}, {2}},
       [](const LaneBlocks& l, const Tensors& in) {
         const auto x = fork(in[0], 2);
         return conv2d(l, x[0], in[1], in[2], {.stride = 1, .pad = 1}, {.values = x[1]});
       },
       true},
      {"conv2d_with_rows_behind",
       {3, 4, 2},
       {{3, 3, 2, 2}, {2}},
       [](const LaneBlocks& l, const Tensors& in) {
         const auto x = fork(in[0], 2);
         return conv2d(l, x[0], in[1], in[2], {.stride = 1, .pad = 1},
                       {.rows = spatial_sums(x[1])});
       },
       true},
      {"conv2d_with_both_behind",
       {3, 4, 2},
       {{3, 3, 2, 2}, {2}},
       [](const LaneBlocks& l, const Tensors& in) {
         const auto x = fork(in[0], 3);
         return conv2d(l, x[0], in[1], in[2], {.stride = 1, .pad = 1},
                       {.rows = spatial_sums(x[1]), .values = x[2]});
       },
       true},
      {"conv2d_transpose",
       {3, 2, 2},
       {{3, 3, 3, 2}, {3}},
       [](const LaneBlocks& l, const Tensors& in) {
         return conv2d_transpose(l, in[0], in[1], in[2], {.stride = 2, .pad = 1}, 5, 4);
       }},
      {"attention",
       {4, 12},
       {},
       [](const LaneBlocks&, const Tensors& in) { return attention(in[0], 2); }},
  };
  return all;
}

// What stays ours.
const std::vector<Case>& others() {
  static const std::vector<Case> all = {
      {"group_norm",
       {2, 3, 6},
       {{6}, {6}},
       [](const LaneBlocks& l, const Tensors& in) {
         return group_norm(l, in[0], in[1], in[2], 2, 1e-2F, Activation::kNone);
       }},
      {"group_norm_silu",
       {2, 3, 6},
       {{6}, {6}},
       [](const LaneBlocks& l, const Tensors& in) {
         return group_norm(l, in[0], in[1], in[2], 3, 1e-2F, Activation::kSilu);
       }},
      {"group_norm_of_tokens",
       {4, 6},
       {{6}, {6}},
       [](const LaneBlocks& l, const Tensors& in) {
         return group_norm(l, in[0], in[1], in[2], 3, 1e-2F, Activation::kSilu);
       }},
      {"layer_norm",
       {2, 5},
       {{5}, {5}},
       [](const LaneBlocks& l, const Tensors& in) {
         return layer_norm(l, in[0], in[1], in[2], 1e-2F);
       }},
      {"silu", {7}, {}, [](const LaneBlocks&, const Tensors& in) { return ops::silu(in[0]); }},
      {"tanh", {7}, {}, [](const LaneBlocks&, const Tensors& in) { return ops::tanh(in[0]); }},
      {"softplus",
       {7},
       {},
       [](const LaneBlocks&, const Tensors& in) { return ops::softplus(in[0]); }},
      {"gelu_tanh",
       {7},
       {},
       [](const LaneBlocks&, const Tensors& in) { return ops::gelu_tanh(in[0]); }},
      {"sigmoid",
       {7},
       {},
       [](const LaneBlocks&, const Tensors& in) {
         return unary(numerics::Unary::kSigmoid, in[0]);
       }},
  };
  return all;
}

// Output and gradients of data and parameters, for lanes [first, first + blocks' lanes) of six.
// Partials become whole where the blocks are one subtree.
Tensors computed(const Case& one, const LaneBlocks& blocks, std::int64_t first_lane) {
  std::vector<std::int64_t> all_sizes = one.sample;
  all_sizes.insert(all_sizes.begin(), 6 * kEach);
  const Tensor all = values(all_sizes, 1);
  Tensor data = copy_of(all.narrow(0, first_lane * kEach, blocks.samples()).contiguous());
  data.set_requires_grad(true);
  Tensors inputs = {data};
  for (std::size_t i = 0; i < one.parameters.size(); ++i)
    inputs.push_back(
        over_border(entered(values(one.parameters[i], static_cast<std::uint32_t>(2 + i)), blocks)));
  const Tensor out = one.op(blocks, inputs);
  Tensor weights = values({6 * kEach, out.numel() / out.size(0)}, 9);
  const Tensor seed = copy_of(weights.narrow(0, first_lane * kEach, blocks.samples()).contiguous())
                          .view(out.sizes());
  Tensors result = {bare(out)};
  for (const Tensor& gradient : gradients({out}, {seed}, inputs, false)) result.push_back(gradient);
  return result;
}

Tensors natively(const Case& one, const LaneBlocks& blocks, std::int64_t first_lane,
                 Precision precision = Precision::kFloat32) {
  const NumericsScope scope({.native = true, .samples = kEach, .precision = precision});
  return computed(one, blocks, first_lane);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.sizes() == y.sizes() &&
         std::memcmp(x.const_data_ptr(), y.const_data_ptr(),
                     static_cast<std::size_t>(x.numel()) * sizeof(float)) == 0;
}

class Native : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Ops, Native, ::testing::ValuesIn(products()),
                         [](const auto& one) { return std::string(one.param.name); });

// Why a tolerance: both round each of a few dozen operations on values near 1, in another order.
TEST_P(Native, ValuesAndGradientsAreNearOurs) {
  const Tensors ours = computed(GetParam(), {kEach, {6}}, 0),
                theirs = natively(GetParam(), {kEach, {6}}, 0);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    ASSERT_EQ(ours[i].sizes(), theirs[i].sizes()) << i;
    const Tensor a = ours[i].contiguous(), b = theirs[i].contiguous();
    for (std::int64_t e = 0; e < a.numel(); ++e)
      ASSERT_NEAR(read(a)[e], read(b)[e], 1e-3) << "tensor " << i << ", element " << e;
  }
}

double length(const Tensor& x) {
  double squares = 0;
  for (std::int64_t e = 0; e < x.numel(); ++e) squares += double{read(x)[e]} * double{read(x)[e]};
  return numerics::host::sqrt(squares);
}

// Why 1 %: an operand's rounding error is at most 2^-9 of it, a result's, too, and attention rounds
// a chain of four.
TEST_P(Native, Bfloat16IsNearFloat32) {
  const Tensors exact = natively(GetParam(), {kEach, {6}}, 0),
                rounded = natively(GetParam(), {kEach, {6}}, 0, Precision::kBfloat16);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const Tensor a = exact[i].contiguous(), b = rounded[i].contiguous();
    ASSERT_EQ(b.scalar_type(), at::kFloat) << i;
    Tensor difference = ops::empty(a.sizes());
    for (std::int64_t e = 0; e < a.numel(); ++e) write(difference)[e] = read(b)[e] - read(a)[e];
    EXPECT_LT(length(difference), 0.01 * length(a)) << i;
  }
  const Tensor y = rounded[0].contiguous();  // bfloat16 numbers
  EXPECT_FALSE(same_bits(exact[0], y));
  if (GetParam().adds) return;
  for (std::int64_t e = 0; e < y.numel(); ++e)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(read(y)[e]) & 0xffffU, 0U) << e;
}

Tensor slope_by_weights(Precision precision, bool twice) {
  const LaneBlocks blocks{kEach, {4, 2}};
  const Tensor w = over_border(entered(values({3, 3, 2, 3}, 2), blocks));
  const NumericsScope scope({.native = true, .samples = kEach, .precision = precision});
  return testing::slope_by_weights(blocks, leaf(values({6 * kEach, 4, 4, 2}, 1)), w, twice);
}

// A backward pass keeps the rounded operands alone: a second one needs the values, and rounds anew.
TEST(NativeScope, GradientsOfGradientsInBfloat16NeedTheValues) {
  const Tensor exact = slope_by_weights(Precision::kFloat32, true).contiguous(),
               rounded = slope_by_weights(Precision::kBfloat16, true).contiguous();
  Tensor difference = ops::empty(exact.sizes());
  for (std::int64_t e = 0; e < exact.numel(); ++e)
    write(difference)[e] = read(rounded)[e] - read(exact)[e];
  EXPECT_LT(length(difference), 0.02 * length(exact));
  EXPECT_GT(length(difference), 0.0);
  EXPECT_NO_THROW(slope_by_weights(Precision::kFloat32, false));
  EXPECT_THROW(slope_by_weights(Precision::kBfloat16, false), Error);
}

TEST(NativeScope, NormsAndActivationsStayOurs) {
  for (const Case& one : others()) {
    const Tensors ours = computed(one, {kEach, {4, 2}}, 0);
    for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
      const Tensors same = natively(one, {kEach, {4, 2}}, 0, precision);
      for (std::size_t i = 0; i < ours.size(); ++i)
        EXPECT_TRUE(same_bits(ours[i], same[i])) << one.name << ", tensor " << i;
    }
  }
}

// LibTorch's kernels for CPUs have no TF32 that this program would use.
TEST_P(Native, Tf32IsFloat32OnACpu) {
  const Tensors exact = natively(GetParam(), {kEach, {6}}, 0),
                same = natively(GetParam(), {kEach, {6}}, 0, Precision::kTf32);
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_TRUE(same_bits(exact[i], same[i])) << i;
}

// A rank with lanes 4 and 5 (a subtree of six) computes what a rank with all computes for them.
TEST_P(Native, BitsDoNotDependOnWhichLanesARankHas) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    const Tensors whole = natively(GetParam(), {kEach, {4, 2}}, 0, precision),
                  part = natively(GetParam(), {kEach, {2}}, 4, precision);
    for (std::size_t i = 0; i < 2; ++i)  // output and gradient of the data
      EXPECT_TRUE(same_bits(whole[i].narrow(0, 4 * kEach, 2 * kEach), part[i])) << i;
    for (std::size_t i = 2; i < whole.size(); ++i)  // gradients of parameters [P, …]
      EXPECT_TRUE(same_bits(whole[i].select(0, 1), part[i].select(0, 0))) << i;
  }
}

TEST_P(Native, BitsDoNotDependOnThreads) {
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    const Tensors alone = natively(GetParam(), {kEach, {6}}, 0, precision);
    for (const int threads : {2, 5}) {
      numerics::Cpu cpu(threads);
      const DeviceScope here(cpu);
      const Tensors together = natively(GetParam(), {kEach, {6}}, 0, precision);
      for (std::size_t i = 0; i < alone.size(); ++i)
        EXPECT_TRUE(same_bits(alone[i], together[i])) << threads << " threads, tensor " << i;
    }
  }
}

// What LibTorch computes inside of a kernel is allowed, what it computes outside is not.
TEST_P(Native, TheGuardSeesOnlyWhatIsOutside) {
  EXPECT_NO_THROW(guarded("native", [&] { natively(GetParam(), {kEach, {6}}, 0); }));
  EXPECT_NO_THROW(guarded("native", [&] {
    natively(GetParam(), {kEach, {6}}, 0, Precision::kBfloat16);
  }));
  EXPECT_THROW(guarded("native",
                       [&] {
                         const Tensors all = natively(GetParam(), {kEach, {6}}, 0);
                         all[0].add(all[0]);
                       }),
               Error);
}

TEST(NativeScope, EndsWithItsBlock) {
  EXPECT_FALSE(numerics_in_use().native);
  {
    const NumericsScope outer({.native = true, .samples = 4});
    {
      const NumericsScope inner({});
      EXPECT_FALSE(numerics_in_use().native);
    }
    EXPECT_TRUE(numerics_in_use().native);
    EXPECT_EQ(numerics_in_use().samples, 4);
  }
  EXPECT_FALSE(numerics_in_use().native);
}

// LibTorch throws c10::Error for both.
TEST(NativeScope, WhatLibTorchRefusesIsLackOfMemoryOrABug) {
  const NumericsScope scope({.native = true, .samples = 1});
  EXPECT_THROW(native::for_each_piece(
                   1, 0, [](const native::Piece&) { at::empty({std::int64_t{1} << 50}); }),
               std::bad_alloc);
  const auto out_of = [](const std::string& what) {
    native::for_each_piece(1, 0, [&](const native::Piece&) { TORCH_CHECK(false, what); });
  };
  for (const char* const what :
       {"CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate",
        "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"})
    EXPECT_THROW(out_of(what), std::bad_alloc) << what;
  try {
    native::for_each_piece(1, 0, [](const native::Piece&) {
      at::mm(at::ones({2, 3}), at::ones({2, 3}));
    });
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBug);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

TEST(NativeScope, ParametersMayLieAnywhere) {
  const Tensor x = values({4, 6}, 1);
  const auto at_offset = [](std::int64_t offset, std::uint32_t seed) {
    Tensor room = ops::empty({6 + offset});
    const Tensor some = values({6}, seed);
    std::memcpy(write(room) + offset, read(some), 6 * sizeof(float));
    return room.narrow(0, offset, 6);
  };
  const NumericsScope scope({.native = true, .samples = 2});
  const auto product = [&](std::int64_t offset) {
    return native::linear({2, {2}}, x, at_offset(offset, 2).view({1, 6, 1}),
                          at_offset(offset, 3).narrow(0, 2, 1).view({1, 1}));
  };
  for (const std::int64_t offset : {1, 3}) EXPECT_TRUE(same_bits(product(0), product(offset)));
  const Tensor apart = at_offset(1, 2), moved = native::aligned(apart);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(moved.const_data_ptr()) % 64, 0U);
}

TEST(NativeScope, SamplesThatAreNoWholeLanesAreABug) {
  const NumericsScope scope({.native = true, .samples = 4});
  EXPECT_THROW(ops::attention(values({6, 2, 3}, 1), 1), Error);
}

}  // namespace
}  // namespace lockstep::ops
