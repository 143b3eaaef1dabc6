#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "lockstep/model/dcgan_discriminator.h"
#include "lockstep/model/layers.h"
#include "lockstep/model/sngan_discriminator.h"
#include "model/testing.h"
#include "support/local_ranks.h"

namespace lockstep::model {
namespace {

using namespace testing;  // NOLINT
using Shape = std::vector<std::int64_t>;

Options conv(const std::string& kind, const Shape& channels) {
  return convolutional(kind, channels, /*latent=*/3);
}

std::string names_of(const Network& network) {
  std::string names;
  for (const NamedTensor& p : network.parameters_in_order()) {
    names += p.path;
    for (const std::int64_t size : p.tensor.sizes()) names += " " + std::to_string(size);
    names += "\n";
  }
  return names;
}

TEST(Dcgan, HasTheseParametersInThisOrder) {
  const auto g = make_network(conv("dcgan-generator", {4, 6}), {28, 28, 1});
  EXPECT_EQ(names_of(*g), R"(project.weight 3 294
project_norm.weight 6
project_norm.bias 6
up1.weight 4 4 4 6
norm1.weight 4
norm1.bias 4
up0.weight 4 4 1 4
up0.bias 1
)");
  EXPECT_EQ(g->forward_flops(), 2.0 * (3 * 294 + 49 * 16 * 24 + 196 * 16 * 4));
  const auto d = make_network(conv("dcgan-discriminator", {4, 6}), {28, 28, 1});
  EXPECT_EQ(names_of(*d), R"(down0.weight 4 4 1 4
down0.bias 4
down1.weight 4 4 4 6
norm1.weight 6
norm1.bias 6
output.weight 294 1
output.bias 1
)");
  EXPECT_EQ(d->forward_flops(), 2.0 * (196 * 16 * 4 + 49 * 16 * 24 + 294));
}

TEST(Sngan, HasTheseParametersInThisOrder) {
  const auto g = make_network(conv("sngan-generator", {4, 6}), {32, 32, 3});
  EXPECT_EQ(names_of(*g), R"(project.weight 3 1536
project_norm.weight 6
project_norm.bias 6
up0.weight 4 4 4 6
norm0.weight 4
norm0.bias 4
output.weight 3 3 4 3
output.bias 3
)");
  EXPECT_EQ(g->forward_flops(), 2.0 * (3 * 1536 + 256 * 16 * 24 + 1024 * 9 * 12));
  const auto d = make_network(conv("sngan-discriminator", {4, 6}), {32, 32, 3});
  EXPECT_EQ(names_of(*d), R"(conv0.weight 3 3 3 4
conv0.bias 4
down0.weight 4 4 4 4
down0.bias 4
conv1.weight 3 3 4 6
conv1.bias 6
output.weight 1536 1
output.bias 1
)");
  EXPECT_EQ(d->forward_flops(), 2.0 * (1024 * 9 * 12 + 256 * 16 * 16 + 256 * 9 * 24 + 1536));
  std::string buffers;  // spectral norm on every layer
  for (const NamedTensor& b : d->buffers_in_order()) buffers += b.path + " ";
  EXPECT_EQ(buffers, "conv0.u conv0.v down0.u down0.v conv1.u conv1.v output.u output.v ");
}

TEST(ConvGan, DiscriminatorsWithoutNormsHaveNeitherTheirTensorsNorTheirMixing) {
  auto dcgan = conv("dcgan-discriminator", {4, 6});
  EXPECT_TRUE(make_network(dcgan, {28, 28, 1})->mixes_samples());
  dcgan.kind.as<DcganDiscriminatorOptions>().norm = "none";
  const auto plain = make_network(dcgan, {28, 28, 1});
  EXPECT_FALSE(plain->mixes_samples());
  EXPECT_EQ(names_of(*plain), R"(down0.weight 4 4 1 4
down0.bias 4
down1.weight 4 4 4 6
down1.bias 6
output.weight 294 1
output.bias 1
)");
  auto sngan = conv("sngan-discriminator", {4, 6});
  sngan.kind.as<SnganDiscriminatorOptions>().norm = "none";
  const auto unbounded = make_network(sngan, {32, 32, 3}, /*classes=*/3);
  EXPECT_THAT(unbounded->buffers_in_order(), ::testing::IsEmpty());
  EXPECT_EQ(names_of(*unbounded),
            names_of(*make_network(conv("sngan-discriminator", {4, 6}), {32, 32, 3}, 3)));
}

TEST(ConvGan, FitsPicturesOfManySizes) {
  for (const std::string family : {"dcgan", "sngan"}) {
    for (const Shape& shape : {Shape{28, 28, 1}, {32, 32, 3}, {9, 11, 3}, {13, 8, 1}}) {
      auto g = std::dynamic_pointer_cast<Generator>(
          make_network(conv(family + "-generator", {4, 6, 5}), shape));
      auto d = std::dynamic_pointer_cast<Discriminator>(
          make_network(conv(family + "-discriminator", {4, 6, 5}), shape));
      g->initialize(1, "generator");
      d->initialize(1, "discriminator");
      d->prepare(true);
      lane::Context context = lane::Context::evaluation(2);
      const Tensor z = normals({2, 3}, 1);
      const Tensor fake = g->forward(context, z, {}, false);
      EXPECT_EQ(fake.sizes(), at::IntArrayRef({2, shape[0], shape[1], shape[2]}));
      // No position is out of reach of the latent: every one differs between two samples.
      const std::int64_t each = fake.numel() / 2;
      for (std::int64_t i = 0; i < each; ++i) {
        ASSERT_NE(ops::read(fake)[i], ops::read(fake)[each + i]) << family << ", value " << i;
        ASSERT_LE(std::abs(ops::read(fake)[i]), 1.0F);
      }
      EXPECT_EQ(d->forward(context, fake, {}, false).sizes(), at::IntArrayRef({2}));
    }
  }
}

TEST(ConvGan, FirstValuesOfDcganAreNormalsOfDeviationTwoHundredthsAndNoBias) {
  const auto network = make_network(conv("dcgan-discriminator", {64, 64}), {28, 28, 1});
  network->initialize(1, "discriminator");
  for (const NamedTensor& p : network->parameters_in_order()) {
    const float* values = ops::read(p.tensor);
    if (p.path == "down0.bias") {
      EXPECT_EQ(values[5], 0.0F);
    }
    if (p.path != "down1.weight") continue;
    double mean = 0, square = 0;
    const auto n = static_cast<double>(p.tensor.numel());  // 65,536: six standard errors
    for (std::int64_t i = 0; i < p.tensor.numel(); ++i) {
      mean += values[i] / n;
      square += double{values[i]} * values[i] / n;
    }
    EXPECT_NEAR(mean, 0.0, 6 * 0.02 / 256);
    EXPECT_NEAR(square / 4e-4, 1.0, 6 * 1.42 / 256);
  }
}

// A network of one layer, so that prepare reaches it the usual way.
template <class Of>
class One : public Network {
 public:
  template <class... Arguments>
  explicit One(Arguments... arguments) {
    layer = register_module("layer", std::make_shared<Of>(arguments...));
  }
  double forward_flops() const override { return layer->flops(); }
  std::shared_ptr<Of> layer;
};

double inner_product(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) sum += double{ops::read(a)[i]} * ops::read(b)[i];
  return sum;
}

// <conv(x), y> = <x, transpose(y)> for every x and y.
TEST(ConvTranspose2d, IsTheTransposeOfConv2d) {
  for (const Shape& big : {Shape{9, 8}, {7, 12}}) {
    One<Conv2d> conv(3, 5, 4, 2, Weights{.bias = Bias::kNo});
    One<ConvTranspose2d> transpose(5, 3, 4, 2, Weights{.bias = Bias::kNo});
    conv.initialize(1, "a");
    transpose.parameters_in_order()[0].tensor.detach().copy_(
        conv.parameters_in_order()[0].tensor.detach());
    lane::Context context = lane::Context::evaluation(2);
    const Tensor x = normals({2, big[0], big[1], 3}, 1);
    const Tensor cx = conv.layer->forward(context, x);
    const Tensor y = normals(cx.sizes(), 2);
    const Tensor ty = transpose.layer->forward(context, y, big[0], big[1]);
    ASSERT_EQ(ty.sizes(), x.sizes());
    EXPECT_NEAR(inner_product(cx, y), inner_product(x, ty), 1e-4);
    EXPECT_GT(std::abs(inner_product(cx, y)), 0.1);
  }
}

// What one output position makes of its patch is the matrix that is normalised.
TEST(SpectralNorm, OfAConvolutionNeverStretchesAPatchByMoreThanOneOncePowerIterationHasSettled) {
  One<Conv2d> network(2, 4, 3, 1, kSpectral);
  network.initialize(3, "d");
  for (int i = 0; i < 200; ++i) network.prepare(true);
  network.prepare(false);
  lane::Context context = lane::Context::evaluation(2000);
  const Tensor x = normals({2000, 3, 3, 2}, 1), zero = ops::filled(x.sizes(), 0.0F);
  const Tensor y =
      ops::subtract(network.layer->forward(context, x), network.layer->forward(context, zero));
  const Tensor length = ops::row_squares(x);
  float largest = 0;
  for (std::int64_t i = 0; i < 2000; ++i) {
    float stretched = 0;
    for (std::int64_t c = 0; c < 4; ++c) {
      const float middle = ops::read(y)[(i * 9 + 4) * 4 + c];
      stretched += middle * middle;
    }
    largest = std::max(largest, stretched / ops::read(length)[i]);
  }
  EXPECT_LE(largest, 1.0F + 1e-4F);
  EXPECT_GE(largest, 0.5F);
}

TEST(DcganDiscriminator, MovesRunningStatisticsOnlyWhenTrained) {
  comm::run_local(1, [](comm::Group& group) {
    const lane::Plan plan({.lanes = 2, .samples_per_lane = 3}, 1);
    auto network = std::dynamic_pointer_cast<Discriminator>(
        make_network(conv("dcgan-discriminator", {4, 6}), {8, 8, 1}));
    network->initialize(1, "discriminator");
    network->prepare(true);
    const Tensor before = network->buffers_in_order()[0].tensor.clone();
    lane::Context context(plan, group);
    const Tensor x = normals({6, 8, 8, 1}, 1);
    network->forward(context, x, {}, false);
    EXPECT_TRUE(same_bits(before, network->buffers_in_order()[0].tensor));
    network->forward(context, x, {}, true);
    EXPECT_FALSE(same_bits(before, network->buffers_in_order()[0].tensor));
  });
}

TEST(ConvGan, OptionsThatDoNotFitAreUsageErrorsThatNameTheField) {
  const auto message = [](const Options& o, const Shape& shape) {
    try {
      make_network(o, shape);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::kUsage);
      return e.message();
    }
    return std::string();
  };
  for (const char* kind :
       {"dcgan-generator", "dcgan-discriminator", "sngan-generator", "sngan-discriminator"}) {
    EXPECT_TRUE(message(conv(kind, {4}), {2}).starts_with("kind:")) << kind;
    EXPECT_TRUE(message(conv(kind, {}), {8, 8, 1}).starts_with("channels:")) << kind;
    EXPECT_TRUE(message(conv(kind, {4, 4, 4, 4, 4}), {8, 28, 1}).starts_with("channels:")) << kind;
    EXPECT_EQ(message(conv(kind, {4, 4, 4}), {8, 28, 1}), "") << kind;
  }
}

}  // namespace
}  // namespace lockstep::model
