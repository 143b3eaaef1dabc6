#include <gtest/gtest.h>

#include <tuple>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "model/testing.h"
#include "support/local_ranks.h"

namespace lockstep::model {
namespace {

using namespace testing;  // NOLINT

std::shared_ptr<Denoiser> made(const Options& options, const std::vector<std::int64_t>& shape) {
  auto network = std::dynamic_pointer_cast<Denoiser>(make_network(options, shape));
  network->initialize(1, "model");
  network->prepare(true);
  return network;
}

Tensor forward(Denoiser& network, const Tensor& x, float t = 17.0F) {
  Context context = Context::evaluation(x.size(0));
  return network.forward(context, x, ops::filled({x.size(0)}, t), {});
}

void set(const Network& network, const std::string& path, const Tensor& value) {
  for (const NamedTensor& p : network.parameters_in_order())
    if (p.path == path) p.tensor.detach().copy_(value);
}

TEST(Dit, TrainsOnPicturesThatItsPatchesCover) {
  for (const auto& [patch, shape] : std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>>{
           {1, {3, 5, 2}}, {2, {8, 6, 1}}, {4, {4, 12, 3}}, {7, {28, 28, 1}}}) {
    comm::run_local(1, [&, patch = patch, shape = shape](comm::Group& group) {
      const lane::Plan plan({.lanes = 2, .samples_per_lane = 1}, 1);
      const auto network = made(small_dit(patch), shape);
      // Gates and the output layer start at zero and would stop every gradient behind them.
      for (Tensor p : parameters_of(*network)) p.detach().copy_(normals(p.sizes(), 3));
      lane::Context context(plan, group);
      const std::vector<std::int64_t> sizes = {2, shape[0], shape[1], shape[2]};
      const Tensor y = network->forward(context, normals(sizes, 1), ops::filled({2}, 17.0F), {});
      ASSERT_EQ(y.sizes(), at::IntArrayRef(sizes));
      const auto result = lane::backward(
          context, ops::lane_sums(context.lanes(), ops::mean_squared_error(y, normals(sizes, 2))),
          0.5F, parameters_of(*network));
      for (const Tensor& g : result.gradients) {
        ASSERT_TRUE(g.defined());
        EXPECT_TRUE(finite(g));
      }
    });
  }
}

// adaLN-Zero: all gates are zero, and so is the last layer.
TEST(Dit, StartsAtZero) {
  const auto network = made(small_dit(), {8, 8, 3});
  const Tensor x = normals({2, 8, 8, 3}, 1);
  EXPECT_TRUE(same_bits(forward(*network, x), ops::filled(x.sizes(), 0.0F)));
}

// With gates of zero a token is seen by no other: its patch of the output depends on its own place
// and pixels alone.
TEST(Dit, AlikePatchesDifferByTheirPlaces) {
  const auto network = made(small_dit(), {4, 6, 1});
  set(*network, "output.weight", normals({8, 4}, 3));
  const Tensor y = forward(*network, ops::filled({1, 4, 6, 1}, 0.5F));
  for (std::int64_t i = 0; i < 6; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      EXPECT_NE(ops::read(y)[i / 3 * 12 + i % 3 * 2], ops::read(y)[j / 3 * 12 + j % 3 * 2])
          << i << " " << j;
    }
  }
}

// Blocks are the identity: no time changes a token, no token changes another.
TEST(Dit, StartsWithBlocksThatDoNothing) {
  const auto network = made(small_dit(), {4, 6, 1});
  set(*network, "output.weight", normals({8, 4}, 3));
  Tensor x = normals({1, 4, 6, 1}, 1);
  const Tensor y = forward(*network, x), later = forward(*network, x, 500.0F);
  EXPECT_TRUE(same_bits(y, later));
  ops::write(x)[0] += 1.0F;
  const Tensor moved = ops::patches(forward(*network, x), 2), rows = ops::patches(y, 2);
  EXPECT_NE(ops::read(moved)[0], ops::read(rows)[0]);
  for (std::int64_t i = 4; i < 24; ++i) EXPECT_EQ(ops::read(moved)[i], ops::read(rows)[i]) << i;
}

TEST(Dit, StartsWithZerosWhereTheConditionsComeIn) {
  const auto network = made(small_dit(), {8, 8, 3});
  for (const NamedTensor& p : network->parameters_in_order()) {
    const bool zero = p.path.find("modulation.") != std::string::npos ||
                      p.path.find("gate.") != std::string::npos || p.path.starts_with("output.");
    EXPECT_EQ(same_bits(p.tensor, ops::filled(p.tensor.sizes(), 0.0F)), zero) << p.path;
  }
}

// Tokens of nothing but their places, as the last norm leaves them: at row or column 0 the cosines
// of all frequencies are alike, and so are the sines.
TEST(Dit, PlacesAreOfTheRowAndThenOfTheColumn) {
  const auto network = made(small_dit(), {4, 6, 2});  // 2 x 3 tokens of 8 values
  set(*network, "input.weight", ops::filled({8, 8}, 0.0F));
  set(*network, "input.bias", ops::filled({8}, 0.0F));
  Tensor identity = ops::filled({8, 8}, 0.0F);
  for (std::int64_t i = 0; i < 8; ++i) ops::write(identity)[9 * i] = 1.0F;
  set(*network, "output.weight", identity);
  const Tensor y = ops::patches(forward(*network, normals({1, 4, 6, 2}, 1)), 2);
  for (const auto& [token, first, other] : {std::tuple(1, 0, 4), {3, 4, 0}}) {
    const float* const values = ops::read(y) + std::ptrdiff_t{8} * token;
    EXPECT_EQ(values[first], values[first + 1]) << token;
    EXPECT_EQ(values[first + 2], values[first + 3]) << token;
    EXPECT_NE(values[other], values[other + 1]) << token;
  }
}

TEST(Dit, HasTheseParametersInThisOrder) {
  Options one = small_dit();
  one.kind.as<DitOptions>().depth = 1;
  std::string names;
  const auto network = make_network(one, {8, 8, 3});
  for (const NamedTensor& p : network->parameters_in_order()) {
    if (p.path.ends_with(".bias")) continue;
    names += p.path.substr(0, p.path.rfind('.'));
    for (const std::int64_t size : p.tensor.sizes()) names += " " + std::to_string(size);
    names += "\n";
  }
  EXPECT_EQ(names, R"(time1 8 6
time2 6 6
input 12 8
block0.attention.modulation 6 16
block0.attention.in 8 24
block0.attention.out 8 8
block0.attention.gate 6 8
block0.mlp.modulation 6 16
block0.mlp.in 8 16
block0.mlp.out 16 8
block0.mlp.gate 6 8
output_modulation 6 16
output 8 12
)");
}

TEST(Dit, CountsItsMultiplyAdds) {
  Options one = small_dit();
  one.kind.as<DitOptions>().depth = 1;
  const double tokens = 16, rows = 8 * 6 + 6 * 6 + 2 * 6 * 24 + 6 * 16;
  const double each = 12 * 8 + 8 * 24 + 8 * 8 + 8 * 16 + 16 * 8 + 8 * 12;
  EXPECT_EQ(make_network(one, {8, 8, 3})->forward_flops(),
            2 * (rows + tokens * each + 2 * tokens * tokens * 8));
}

TEST(Dit, OptionsThatDoNotFitAreUsageErrorsThatNameTheField) {
  const auto message = [](const auto& change, const std::vector<std::int64_t>& shape) {
    Options o = small_dit();
    change(o.kind.as<DitOptions>());
    try {
      make_network(o, shape);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
      return e.message();
    }
    return std::string();
  };
  const std::vector<std::int64_t> square = {8, 8, 1};
  EXPECT_EQ(message([](auto&) {}, square), "");
  EXPECT_EQ(message([](auto&) {}, {2}), "kind: dit needs pictures");
  EXPECT_EQ(message([](auto&) {}, {8, 9, 1}), "patch: 2 does not divide the sides of 8 x 9 pixels");
  EXPECT_EQ(message([](auto& o) { o.patch = 16; }, square),
            "patch: 16 does not divide the sides of 8 x 8 pixels");
  EXPECT_EQ(message([](auto& o) { o.heads = 3; }, square), "heads: 3 does not divide the width 8");
  EXPECT_TRUE(message([](auto& o) { o.width = 6; }, square).starts_with("width: 6 "));
}

}  // namespace
}  // namespace lockstep::model
