#include <gtest/gtest.h>

#include "lockstep/core/error.h"
#include "model/testing.h"

namespace lockstep::model {
namespace {

using namespace testing;  // NOLINT

TEST(Networks, EveryKindMakesANetworkOfItsSort) {
  for (const NetworkKind& kind : networks()) {
    Options o;
    o.kind = kind.word;
    const auto network = make_network(o, {32, 32, 3}, /*classes=*/10);
    const Network* made = network.get();
    EXPECT_EQ(dynamic_cast<const Denoiser*>(made) != nullptr, kind.type == Denoiser::kType);
    EXPECT_EQ(dynamic_cast<const Generator*>(made) != nullptr, kind.type == Generator::kType);
    EXPECT_EQ(dynamic_cast<const Discriminator*>(made) != nullptr,
              kind.type == Discriminator::kType);
    EXPECT_EQ(dynamic_cast<const Classifier*>(made) != nullptr, kind.type == Classifier::kType);
  }
  EXPECT_EQ(listed(kinds_of(NetworkType::kDenoiser)), "unet or dit");
  EXPECT_EQ(listed(kinds_of(NetworkType::kGenerator)),
            "mlp-generator, dcgan-generator or sngan-generator");
  EXPECT_EQ(listed(kinds_of(NetworkType::kDiscriminator)),
            "mlp-discriminator, dcgan-discriminator or sngan-discriminator");
  EXPECT_EQ(listed(kinds_of(NetworkType::kClassifier)), "cnn");
}

TEST(Networks, AnUnknownKindIsAUsageErrorThatListsThem) {
  Options o;
  o.kind = "u-net";
  try {
    make_network(o, {8, 8, 1});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUsage);
    EXPECT_EQ(e.message(), "kind: there is no 'u-net'");
    EXPECT_TRUE(e.hint().starts_with("use unet, dit, mlp-generator, ")) << e.hint();
  }
}

}  // namespace
}  // namespace lockstep::model
