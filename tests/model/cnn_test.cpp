#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "model/testing.h"
#include "support/local_ranks.h"

namespace lockstep::model {
namespace {

using namespace testing;  // NOLINT

const CnnOptions kSmall = {.channels = {4, 6}, .groups = 2, .features = 5};

std::shared_ptr<Classifier> made(const Options& options, const std::vector<std::int64_t>& shape) {
  auto network = std::dynamic_pointer_cast<Classifier>(make_network(options, shape, 3));
  network->initialize(1, "model");
  network->prepare(true);
  return network;
}

TEST(Cnn, TrainsOnPicturesOfAnySides) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{1, 1, 1}, {8, 8, 3}, {7, 10, 2}}) {
    comm::run_local(1, [&](comm::Group& group) {
      const lane::Plan plan({.lanes = 2, .samples_per_lane = 1}, 1);
      const auto network = made(cnn(kSmall), shape);
      lane::Context context(plan, group);
      const Tensor y = network->forward(context, normals({2, shape[0], shape[1], shape[2]}, 1));
      ASSERT_EQ(y.sizes(), at::IntArrayRef({2, 3}));
      Tensor condition = ops::filled({2, 3}, 0.0F);
      ops::write(condition)[1] = ops::write(condition)[3] = 1.0F;
      const auto result =
          lane::backward(context, ops::lane_sums(context.lanes(), ops::cross_entropy(y, condition)),
                         0.5F, parameters_of(*network));
      for (const Tensor& g : result.gradients) {
        ASSERT_TRUE(g.defined());
        EXPECT_TRUE(finite(g));
      }
    });
  }
}

TEST(Cnn, FeaturesAreWhatTheLastLayerSees) {
  const auto network = made(cnn(kSmall), {8, 8, 1});
  const Tensor x = normals({3, 8, 8, 1}, 1);
  Context context = Context::evaluation(3);
  const Tensor features = network->features(context, x), logits = network->forward(context, x);
  ASSERT_EQ(features.sizes(), at::IntArrayRef({3, network->width()}));
  const auto parameters = network->parameters_in_order();
  const float *w = ops::read(parameters[parameters.size() - 2].tensor),
              *b = ops::read(parameters.back().tensor);
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t k = 0; k < 3; ++k) {
      float sum = 0;
      for (std::int64_t f = 0; f < 5; ++f) sum += ops::read(features)[i * 5 + f] * w[f * 3 + k];
      EXPECT_NEAR(ops::read(logits)[i * 3 + k], sum + b[k], 1e-5) << i << " " << k;
    }
  }
}

TEST(Cnn, NoSampleSeesAnotherOne) {
  const auto network = made(cnn(kSmall), {8, 8, 1});
  const Tensor x = normals({3, 8, 8, 1}, 1);
  Context three = Context::evaluation(3), one = Context::evaluation(1);
  EXPECT_TRUE(same_bits(network->features(three, x).narrow(0, 1, 1).contiguous(),
                        network->features(one, x.narrow(0, 1, 1).contiguous())));
  EXPECT_FALSE(network->mixes_samples());
}

TEST(Cnn, HasTheseParametersInThisOrder) {
  std::string names;
  const auto network = make_network(cnn(kSmall), {9, 8, 3}, 3);
  for (const NamedTensor& p : network->parameters_in_order()) {
    names += p.path;
    for (const std::int64_t size : p.tensor.sizes()) names += " " + std::to_string(size);
    names += "\n";
  }
  EXPECT_EQ(names, R"(conv0.weight 3 3 3 4
conv0.bias 4
norm0.weight 4
norm0.bias 4
conv1.weight 3 3 4 6
conv1.bias 6
norm1.weight 6
norm1.bias 6
features.weight 120 5
features.bias 5
output.weight 5 3
output.bias 3
)");
}

TEST(Cnn, CountsItsMultiplyAdds) {
  EXPECT_EQ(make_network(cnn(kSmall), {9, 8, 3}, 3)->forward_flops(),
            2.0 * (72 * 9 * 3 * 4 + 20 * 9 * 4 * 6 + 120 * 5 + 5 * 3));
}

TEST(Cnn, OptionsThatDoNotFitAreUsageErrorsThatNameTheField) {
  const auto message = [](const CnnOptions& o, const std::vector<std::int64_t>& shape,
                          std::int64_t classes) {
    try {
      make_network(cnn(o), shape, classes);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
      return e.message();
    }
    return std::string();
  };
  EXPECT_EQ(message(kSmall, {2}, 3), "kind: cnn needs pictures");
  EXPECT_EQ(message(kSmall, {8, 8, 1}, 0), "kind: cnn tells classes apart, and data.classes is 0");
  EXPECT_EQ(message({.channels = {}}, {8, 8, 1}, 3), "channels: cnn needs at least one level");
  EXPECT_EQ(message({.channels = {4, 6}, .groups = 4}, {8, 8, 1}, 3),
            "groups: 4 does not divide channels 6");
}

}  // namespace
}  // namespace lockstep::model
