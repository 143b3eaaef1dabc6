#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "model/testing.h"
#include "support/local_ranks.h"

namespace lockstep::model {
namespace {

using namespace testing;  // NOLINT

TEST(UNet, TrainsOnPicturesOfAnySizeFromEight) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{8, 8, 1}, {9, 9, 1}, {13, 10, 3}, {28, 28, 1}}) {
    comm::run_local(1, [&](comm::Group& group) {
      const lane::Plan plan({.lanes = 2, .samples_per_lane = 1}, 1);
      auto network = std::dynamic_pointer_cast<Denoiser>(make_network(small_unet(), shape));
      network->initialize(1, "model");
      network->prepare(true);
      // The output layer starts at zero and would stop every gradient behind it.
      for (Tensor p : parameters_of(*network)) p.detach().copy_(normals(p.sizes(), 3));
      lane::Context context(plan, group);
      const std::vector<std::int64_t> sizes = {2, shape[0], shape[1], shape[2]};
      const Tensor y = network->forward(context, normals(sizes, 1), ops::filled({2}, 17.0F), {});
      ASSERT_EQ(y.sizes(), at::IntArrayRef(sizes));
      const auto result = lane::backward(
          context, ops::lane_sums(context.lanes(), ops::mean_squared_error(y, normals(sizes, 2))),
          0.5F, parameters_of(*network));
      for (const Tensor& g : result.gradients) {
        EXPECT_TRUE(finite(g));
      }
    });
  }
}

TEST(UNet, HasTheseParametersInThisOrder) {
  const auto network = make_network(small_unet(), {8, 8, 3});
  std::string names;
  for (const NamedTensor& p : network->parameters_in_order()) {
    if (p.path.ends_with(".bias")) continue;
    names += p.path.substr(0, p.path.rfind('.'));
    for (const std::int64_t size : p.tensor.sizes()) names += " " + std::to_string(size);
    names += "\n";
  }
  EXPECT_EQ(names, R"(time1 4 6
time2 6 6
input 3 3 3 4
down0.block0.residual.norm1 4
down0.block0.residual.conv1 3 3 4 4
down0.block0.residual.time 6 4
down0.block0.residual.norm2 4
down0.block0.residual.conv2 3 3 4 4
down0.resample 3 3 4 4
down1.block0.residual.norm1 4
down1.block0.residual.conv1 3 3 4 8
down1.block0.residual.time 6 8
down1.block0.residual.norm2 8
down1.block0.residual.conv2 3 3 8 8
down1.block0.residual.skip 4 8
down1.block0.attention.norm 8
down1.block0.attention.qkv 8 24
down1.block0.attention.out 8 8
middle1.norm1 8
middle1.conv1 3 3 8 8
middle1.time 6 8
middle1.norm2 8
middle1.conv2 3 3 8 8
middle_attention.norm 8
middle_attention.qkv 8 24
middle_attention.out 8 8
middle2.norm1 8
middle2.conv1 3 3 8 8
middle2.time 6 8
middle2.norm2 8
middle2.conv2 3 3 8 8
up1.block0.residual.norm1 16
up1.block0.residual.conv1 3 3 16 8
up1.block0.residual.time 6 8
up1.block0.residual.norm2 8
up1.block0.residual.conv2 3 3 8 8
up1.block0.residual.skip 16 8
up1.block0.attention.norm 8
up1.block0.attention.qkv 8 24
up1.block0.attention.out 8 8
up1.block1.residual.norm1 12
up1.block1.residual.conv1 3 3 12 8
up1.block1.residual.time 6 8
up1.block1.residual.norm2 8
up1.block1.residual.conv2 3 3 8 8
up1.block1.residual.skip 12 8
up1.block1.attention.norm 8
up1.block1.attention.qkv 8 24
up1.block1.attention.out 8 8
up1.resample 3 3 8 8
up0.block0.residual.norm1 12
up0.block0.residual.conv1 3 3 12 4
up0.block0.residual.time 6 4
up0.block0.residual.norm2 4
up0.block0.residual.conv2 3 3 4 4
up0.block0.residual.skip 12 4
up0.block1.residual.norm1 8
up0.block1.residual.conv1 3 3 8 4
up0.block1.residual.time 6 4
up0.block1.residual.norm2 4
up0.block1.residual.conv2 3 3 4 4
up0.block1.residual.skip 8 4
output_norm 4
output 3 3 4 3
)");
}

TEST(UNet, DefaultOptionsGiveTheUsualSize) {
  const auto network = make_network(Options{}, {28, 28, 1});
  std::int64_t count = 0;
  for (const Tensor& p : parameters_of(*network)) count += p.numel();
  EXPECT_EQ(count, 1623169);
  EXPECT_EQ(network->forward_flops(), 554397184.0);
}

TEST(UNet, OptionsThatDoNotFitAreUsageErrorsThatNameTheField) {
  const auto message = [](const Options& o, const std::vector<std::int64_t>& shape) {
    try {
      make_network(o, shape);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
      return e.message();
    }
    return std::string();
  };
  EXPECT_TRUE(message(small_unet(), {7, 8, 1}).starts_with("kind:"));
  EXPECT_TRUE(message(small_unet(), {2}).starts_with("kind:"));
  const auto changed = [](const auto& change) {
    Options o = small_unet();
    change(o.kind.as<UNetOptions>());
    return o;
  };
  const std::vector<std::int64_t> square = {8, 8, 1};
  EXPECT_TRUE(message(changed([](auto& o) { o.groups = 3; }), square).starts_with("groups:"));
  EXPECT_TRUE(message(changed([](auto& o) { o.heads = 3; }), square).starts_with("heads:"));
  EXPECT_TRUE(message(changed([](auto& o) { o.attention_levels = {2}; }), square)
                  .starts_with("attention_levels:"));
  EXPECT_TRUE(message(changed([](auto& o) {
                        o.channels = {5, 8};
                      }),
                      square)
                  .starts_with("channels:"));
}

}  // namespace
}  // namespace lockstep::model
