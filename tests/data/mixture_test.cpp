#include "lockstep/data/mixture.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "lockstep/core/error.h"
#include "support.h"

namespace lockstep::data {
namespace {

std::array<float, 2> point(const Dataset& data, std::int64_t i) {
  std::array<float, 2> p;
  data.read(Sample(i), p.data());
  return p;
}

TEST(Mixture, SamplesLieAroundTheirCentresAndEveryModeHasItsShare) {
  const Mixture data(MixtureOptions{});
  ASSERT_EQ(data.centres().size(), 16u);
  std::vector<int> share(8);
  for (std::int64_t i = 0; i < 8000; ++i) {
    const auto p = point(data, i);
    for (std::size_t k = 0; k < 8; ++k) {
      const float dx = p[0] - data.centres()[2 * k], dy = p[1] - data.centres()[2 * k + 1];
      if (dx * dx + dy * dy < 0.3f * 0.3f) ++share[k];  // six standard deviations
    }
  }
  int all = 0;
  for (const int n : share) {
    EXPECT_GT(n, 1000 - 180);
    EXPECT_LT(n, 1000 + 180);
    all += n;
  }
  EXPECT_EQ(all, 8000);
}

TEST(Mixture, TheSpreadIsTheSameInEveryDirection) {
  MixtureOptions options;
  options.modes = 1;
  options.radius = 0;
  options.stddev = 1;
  const Mixture data(options);
  double mean[2] = {0, 0}, square[2] = {0, 0}, product = 0;
  const int n = 20000;
  for (int i = 0; i < n; ++i) {
    const auto p = point(data, i);
    for (int j = 0; j < 2; ++j) {
      mean[j] += p[j] / double{n};
      square[j] += double{p[j]} * p[j] / n;
    }
    product += double{p[0]} * p[1] / n;
  }
  for (int j = 0; j < 2; ++j) {  // statistics, so bounds of six standard errors
    EXPECT_NEAR(mean[j], 0, 6 / 141.4);
    EXPECT_NEAR(square[j], 1, 6 * 1.42 / 141.4);
  }
  EXPECT_NEAR(product, 0, 6 / 141.4);
}

TEST(Mixture, HashNamesEveryParameterAndNothingElse) {
  Options a;
  a.kind = "mixture";
  const auto changed = [&](auto change) {
    Options c = a;
    change(c.kind.as<MixtureOptions>());
    return open(c)->hash();
  };
  const auto hash = open(a)->hash();
  EXPECT_NE(hash, changed([](MixtureOptions& m) { m.modes = 9; }));
  EXPECT_NE(hash, changed([](MixtureOptions& m) { m.radius = 2; }));
  EXPECT_NE(hash, changed([](MixtureOptions& m) { m.stddev = 0.1; }));
  EXPECT_NE(hash, changed([](MixtureOptions& m) { m.count = 5; }));
  EXPECT_NE(hash, changed([](MixtureOptions& m) { m.seed = 1; }));
}

// A second implementation in Python (in binary64) gives these points to seven digits, and the hash.
TEST(Mixture, PointsAndHashAreFrozen) {
  const Mixture data(MixtureOptions{});
  EXPECT_EQ(data.hash().hex(), "1949f7825adcd87ab62ae93613223357cd49c68dc02c7a04cdecdf2a62ba0b68");
  EXPECT_EQ(point(data, 0), (std::array<float, 2>{0.668344259f, 0.710977554f}));
  EXPECT_EQ(point(data, 999999), (std::array<float, 2>{-0.727082312f, 0.686109185f}));
}

TEST(Open, AnUnknownKindIsAnErrorOfTheRecipe) {
  Options options;
  options.kind = "sounds";
  EXPECT_NE(error_line(Code::kUsage, [&] { open(options); }).find("sounds"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::data
