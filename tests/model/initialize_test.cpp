#include <gtest/gtest.h>

#include <map>

#include "model/testing.h"

namespace lockstep::model {
namespace {

using namespace testing;  // NOLINT

std::map<std::string, Tensor> initialized(const Options& o, std::int64_t seed,
                                          const std::string& role) {
  const auto network = make_network(o, {8, 8, 1});
  network->initialize(seed, role);
  std::map<std::string, Tensor> values;
  for (const NamedTensor& p : network->parameters_in_order()) values[p.path] = p.tensor;
  for (const NamedTensor& b : network->buffers_in_order()) values[b.path] = b.tensor;
  return values;
}

TEST(Initialize, IsAFunctionOfSeedRoleAndPath) {
  const auto once = initialized(small_unet(), 5, "model");
  const auto again = initialized(small_unet(), 5, "model");
  for (const auto& [path, tensor] : once) EXPECT_TRUE(same_bits(tensor, again.at(path))) << path;
  const char* random = "down0.block0.residual.conv1.weight";
  EXPECT_FALSE(same_bits(once.at(random), initialized(small_unet(), 6, "model").at(random)));
  EXPECT_FALSE(same_bits(once.at(random), initialized(small_unet(), 5, "other").at(random)));
  EXPECT_FALSE(same_bits(once.at("middle1.conv1.weight"), once.at("middle2.conv1.weight")));
}

TEST(Initialize, AddingLayersNeverMovesTheValuesOfOthers) {
  const auto small = initialized(small_unet(), 5, "model");
  const auto large = initialized(small_unet({4, 8, 8}), 5, "model");
  for (const char* path : {"input.weight", "down1.block0.residual.conv1.bias",
                           "down1.block0.attention.qkv.weight", "middle1.conv1.weight"}) {
    EXPECT_TRUE(same_bits(small.at(path), large.at(path))) << path;
  }
}

TEST(Initialize, WeightsAreUniformWithinOneOverTheRootOfFanInAndLastLayersZero) {
  const Options wide = mlp("mlp-discriminator", /*hidden=*/400, /*layers=*/2, /*latent=*/0);
  const Tensor w = initialized(wide, 1, "d").at("hidden1.weight");  // fan_in 400: bound 1/20
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < w.numel(); ++i) {
    const double x = ops::read(w)[i];
    ASSERT_LE(x, 0.05);
    ASSERT_GE(x, -0.05F);
    sum += x;
    squares += x * x;
  }
  // 160,000 draws: six standard errors of mean and mean square of a uniform.
  const auto n = static_cast<double>(w.numel());
  EXPECT_NEAR(sum / n, 0.0, 6 * 0.05 / 1.732 / 400);
  EXPECT_NEAR(squares / n / (0.0025 / 3), 1.0, 6 * 0.9 / 400);

  const auto unet = initialized(small_unet(), 1, "model");
  for (const char* path :
       {"output.weight", "output.bias", "middle1.conv2.weight", "middle_attention.out.weight"}) {
    EXPECT_TRUE(same_bits(unet.at(path), ops::filled(unet.at(path).sizes(), 0.0F))) << path;
  }
}

}  // namespace
}  // namespace lockstep::model
