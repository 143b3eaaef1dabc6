// What a check of layers measures of a forward pass, on a small one.
#include "train/activations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "lockstep/ops/where.h"
#include "support/local_ranks.h"

namespace lockstep::train {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using Measured = std::vector<std::pair<std::string, float>>;

// A forward pass of some role over some of the rank's lanes.
using Pass = std::function<void(const lane::Portion& lanes)>;

// Of `lanes` lanes of two samples by one rank, so many at once.
Measured measured(std::int64_t lanes, std::int64_t at_once, const Pass& pass) {
  const lane::Plan plan({.lanes = lanes, .samples_per_lane = 2}, 1);
  Activations activations("model", plan, Rank(0));
  // The last portion first: threads come in any order.
  const auto portions = plan.portions(Rank(0), at_once);
  for (auto portion = portions.rbegin(); portion != portions.rend(); ++portion) {
    const Activations::Scope here(activations, *portion);
    pass(*portion);
  }
  Measured result;
  comm::run_local(1, [&](comm::Group& group) { result = activations.root_mean_squares(group); });
  return result;
}

// Two values a sample: sample i of lane 0, 1, … has i + 1 and -(i + 1).
at::Tensor samples_of(const lane::Portion& lanes) {
  std::vector<float> values;
  const auto first = static_cast<float>(2 * lanes.first.value);
  for (std::int64_t i = 0; i < 2 * lanes.count; ++i)
    for (const float sign : {1.0F, -1.0F})
      values.push_back(sign * (first + static_cast<float>(i) + 1));
  return ops::from_host(values, {2 * lanes.count, 2});
}

TEST(Activations, AreRootMeanSquaresOverAllSamplesInAnyPortions) {
  const Pass pass = [](const lane::Portion& lanes) {
    const ops::Scope here("model/layer");
    ops::scale(samples_of(lanes), 3.0F);
  };
  // The mean of 1, 4, … 64 is 25.5.
  for (const std::int64_t at_once : {0, 1, 3})
    EXPECT_THAT(measured(4, at_once, pass),
                ElementsAre(Pair("model/layer/scale", ::testing::FloatEq(3 * 5.0497525F))));
}

TEST(Activations, AreNamedByTheirLayerOrTheOneBefore) {
  const Pass pass = [](const lane::Portion& lanes) {
    const ops::Scope network("model");
    at::Tensor h = ops::scale(samples_of(lanes), 1.0F);
    for (const char* const layer : {"model/block.a", "model/block.b"}) {
      const ops::Scope block("model/block");
      {
        const ops::Scope here(layer);
        h = ops::scale(h, 2.0F);
      }
      h = ops::leaky_relu(h, 0.0F);
    }
    ops::scale(h, 0.0F);
  };
  std::vector<std::string> names;
  for (const auto& [name, value] : measured(1, 0, pass)) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("model/scale", "model/block.a/scale", "model/block.a/leaky_relu",
                                 "model/block.b/scale", "model/block.b/leaky_relu"));
  // What the network computes last is "model/block.b/scale" once more.
  EXPECT_THAT(measured(1, 0, pass)[3], Pair("model/block.b/scale", ::testing::FloatEq(3.1622777F)));
}

TEST(Activations, OfSeveralPassesAreOneNumber) {
  const Pass twice = [](const lane::Portion& lanes) {
    for (const float factor : {1.0F, 7.0F}) {  // mean squares 2.5 and 122.5
      const ops::Scope here("model/layer");
      ops::scale(samples_of(lanes), factor);
    }
  };
  EXPECT_THAT(measured(1, 0, twice),
              ElementsAre(Pair("model/layer/scale", ::testing::FloatEq(7.9056942F))));
}

TEST(Activations, AreOfThatNetworksForwardPassesAlone) {
  const Pass pass = [](const lane::Portion& lanes) {
    const at::Tensor x = samples_of(lanes);
    for (const char* const other : {"modelling/layer", "objective/denoise", "mode"}) {
      const ops::Scope here(other);
      ops::scale(x, 2.0F);
    }
    const ops::Scope here("model/layer");
    ops::reshape(x, {x.size(0), 2, 1});                 // the same values
    ops::reshape(ops::scale(x, 5.0F), {1, x.numel()});  // no row a sample
    const at::Tensor leaf = samples_of(lanes).set_requires_grad(true);
    ops::gradients({ops::leaky_relu(leaf, 0.5F)}, {x}, {leaf}, /*create_graph=*/false);
  };
  std::vector<std::string> names;
  for (const auto& [name, value] : measured(2, 1, pass)) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("model/layer/scale", "model/layer/leaky_relu"));
}

}  // namespace
}  // namespace lockstep::train
