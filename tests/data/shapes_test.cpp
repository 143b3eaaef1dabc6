#include "lockstep/data/shapes.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "lockstep/core/error.h"

namespace lockstep::data {
namespace {

hash::Digest first_64(const ShapesOptions& options) {
  const Shapes data(options);
  hash::Sha256 all;
  for (std::int64_t i = 0; i < 64; ++i) {
    const std::vector<std::uint8_t> pixels = data.pixels(Sample(i));
    EXPECT_EQ(static_cast<std::int64_t>(pixels.size()), data.sample_values());
    all.update(std::as_bytes(std::span(pixels)));
  }
  return all.finish();
}

// All numbers of this test come from an implementation in Python, written from the header alone.
TEST(Shapes, PixelsAndHashAreFrozen) {
  EXPECT_EQ(first_64({}).hex(), "3005a8e68326583b385aa0eca19bf65061bfae77f7052d5d99969407e1ed629c");
  ShapesOptions odd;
  odd.side = 9;
  odd.seed = 5;
  EXPECT_EQ(first_64(odd).hex(),
            "573cfb66f66d493ed7813e760ee625893a7361c8dce5f6adcabc4ef697d985fd");
  const std::vector<std::uint8_t> last = Shapes({}).pixels(Sample(65535));
  EXPECT_EQ(hash::sha256(std::as_bytes(std::span(last))).hex(),
            "429b6a97e3cf2ae55c79d6eb5625f1fae6ed809ac04a4b393e15c7cfd8099eaa");
  EXPECT_EQ(Shapes({}).hash().hex(),
            "201209edb12a091eb93894cf80cbde8d5b8661f52987d302ccb6b8b66ab95619");
}

TEST(Shapes, EveryPictureHasTwoColoursThatDifferInEveryChannel) {
  for (const std::int64_t side : {8, 32, 255}) {
    ShapesOptions options;
    options.side = side;
    const Shapes data(options);
    for (std::int64_t i = 0; i < 100; ++i) {
      const std::vector<std::uint8_t> pixels = data.pixels(Sample(i));
      std::set<std::vector<std::uint8_t>> colours;
      for (std::size_t at = 0; at < pixels.size(); at += 3)
        colours.insert({pixels.begin() + static_cast<std::ptrdiff_t>(at),
                        pixels.begin() + static_cast<std::ptrdiff_t>(at) + 3});
      ASSERT_EQ(colours.size(), 2U) << "picture " << i << ", side " << side;
      for (std::size_t c = 0; c < 3; ++c)
        EXPECT_GE(std::abs((*colours.begin())[c] - (*colours.rbegin())[c]), 96);
    }
  }
}

TEST(Shapes, SamplesAreThePixelsAsImagesHaveThem) {
  Options options;
  options.kind = "shapes";
  const auto data = open(options);
  EXPECT_EQ(data->sample_shape(), (std::vector<std::int64_t>{32, 32, 3}));
  std::vector<float> values(static_cast<std::size_t>(data->sample_values()));
  data->read(Sample(7), values.data());
  const std::vector<std::uint8_t> pixels = Shapes({}).pixels(Sample(7));
  for (std::size_t i = 0; i < pixels.size(); ++i)
    ASSERT_NEAR(values[i], static_cast<float>(pixels[i]) / 127.5F - 1.0F, 1e-6F);
}

TEST(Shapes, HashNamesEveryParameter) {
  const auto hash_of = [](std::int64_t side, std::int64_t count, std::int64_t seed) {
    return Shapes({.side = side, .count = count, .seed = seed}).hash();
  };
  EXPECT_NE(hash_of(32, 9, 0), hash_of(31, 9, 0));
  EXPECT_NE(hash_of(32, 9, 0), hash_of(32, 8, 0));
  EXPECT_NE(hash_of(32, 9, 0), hash_of(32, 9, 1));
}

TEST(Shapes, ReadingOutsideIsABugOfOurs) {
  ShapesOptions options;
  options.count = 4;
  EXPECT_THROW(Shapes(options).pixels(Sample(4)), Error);
  EXPECT_THROW(Shapes(options).pixels(Sample(-1)), Error);
}

}  // namespace
}  // namespace lockstep::data
