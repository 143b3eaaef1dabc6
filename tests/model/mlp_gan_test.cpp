#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/model/layers.h"
#include "model/testing.h"
#include "support/local_ranks.h"

namespace lockstep::model {
namespace {

using namespace testing;  // NOLINT

Options small(const std::string& kind) {
  return mlp(kind, /*hidden=*/8, /*layers=*/2, /*latent=*/3);
}

// A network of one spectral layer, so that prepare reaches it the usual way.
class OneLayer : public Network {
 public:
  OneLayer() { layer = register_module("layer", std::make_shared<Linear>(5, 4, kSpectral)); }
  double forward_flops() const override { return layer->flops(); }
  std::shared_ptr<Linear> layer;
};

TEST(SpectralNorm, OfALinearLayerNeverStretchesByMoreThanOneOncePowerIterationHasSettled) {
  OneLayer network;
  network.initialize(3, "d");
  for (int i = 0; i < 100; ++i) network.prepare(true);
  network.prepare(false);
  // Largest stretch of W/sigma over many directions; its limit is 1 up to float rounding.
  lane::Context context = lane::Context::evaluation(1000);
  const Tensor x = normals({1000, 5}, 1), zero = ops::filled({1000, 5}, 0.0F);
  const Tensor y = network.layer->forward(context, x), bias = network.layer->forward(context, zero);
  const Tensor stretched = ops::row_squares(ops::subtract(y, bias)), length = ops::row_squares(x);
  float largest = 0;
  for (int i = 0; i < 1000; ++i) {
    largest = std::max(largest, ops::read(stretched)[i] / ops::read(length)[i]);
  }
  EXPECT_LE(largest, 1.0F + 1e-4F);
  EXPECT_GE(largest, 0.8F);
}

TEST(SpectralNorm, MovesItsVectorsOnlyInItsOwnPhase) {
  OneLayer network;
  network.initialize(3, "d");
  network.prepare(true);
  const Tensor u = network.buffers_in_order()[0].tensor.clone();
  network.prepare(false);
  EXPECT_TRUE(same_bits(u, network.buffers_in_order()[0].tensor));
  network.prepare(true);
  EXPECT_FALSE(same_bits(u, network.buffers_in_order()[0].tensor));
}

TEST(SpectralNorm, ForwardBeforePrepareIsABugOfOurs) {
  OneLayer network;
  network.initialize(3, "d");
  lane::Context context = lane::Context::evaluation(1);
  EXPECT_THROW(network.layer->forward(context, normals({1, 5}, 1)), Error);
}

TEST(MlpGenerator, MovesRunningStatisticsOnlyWhenTrained) {
  comm::run_local(1, [](comm::Group& group) {
    const lane::Plan plan({.lanes = 2, .samples_per_lane = 3}, 1);
    auto network = std::dynamic_pointer_cast<Generator>(make_network(small("mlp-generator"), {2}));
    network->initialize(1, "generator");
    network->prepare(true);
    const Tensor before = network->buffers_in_order()[0].tensor.clone();
    lane::Context context(plan, group);
    const Tensor z = normals({6, 3}, 1);
    EXPECT_EQ(network->forward(context, z, {}, false).sizes(), at::IntArrayRef({6, 2}));
    EXPECT_TRUE(same_bits(before, network->buffers_in_order()[0].tensor));
    network->forward(context, z, {}, true);
    EXPECT_FALSE(same_bits(before, network->buffers_in_order()[0].tensor));
  });
}

TEST(MlpNetworks, FitSamplesOfAnyShape) {
  lane::Context context = lane::Context::evaluation(2);
  auto g = std::dynamic_pointer_cast<Generator>(make_network(small("mlp-generator"), {4, 4, 3}));
  auto d =
      std::dynamic_pointer_cast<Discriminator>(make_network(small("mlp-discriminator"), {4, 4, 3}));
  g->initialize(1, "generator");
  d->initialize(1, "discriminator");
  d->prepare(true);
  const Tensor fake = g->forward(context, normals({2, 3}, 1), {}, false);
  EXPECT_EQ(fake.sizes(), at::IntArrayRef({2, 4, 4, 3}));
  EXPECT_EQ(d->forward(context, fake, {}, true).sizes(), at::IntArrayRef({2}));
}

}  // namespace
}  // namespace lockstep::model
