#include "lockstep/data/resize.h"

#include "data/support.h"

namespace lockstep::data {
namespace {

using Pixels = std::vector<std::uint8_t>;

Picture grey(std::int64_t width, std::int64_t height, Pixels pixels) {
  return {width, height, 1, std::move(pixels)};
}

// Also compared with fractions in Python by tests/cli/pack_test.py.
TEST(Resize, ShrinkingIsTheMeanOfTheAreaRoundedOnceHalvesUp) {
  EXPECT_EQ(resized(grey(2, 2, {0, 1, 0, 1}), {1, 1}).pixels, Pixels{1});  // 1/2
  EXPECT_EQ(resized(grey(2, 2, {0, 1, 0, 0}), {1, 1}).pixels, Pixels{0});  // 1/4
  // 3 to 2: a new pixel is one old one and half of the next.
  EXPECT_EQ(resized(grey(3, 3, {0, 90, 180, 0, 90, 180, 0, 90, 180}), {2, 2}).pixels,
            (Pixels{30, 150, 30, 150}));
}

TEST(Resize, GrowingIsBilinearBetweenCentresAndEndsAtTheBorder) {
  EXPECT_EQ(resized(grey(2, 2, {0, 100, 0, 100}), {4, 4}).pixels,
            (Pixels{0, 25, 75, 100, 0, 25, 75, 100, 0, 25, 75, 100, 0, 25, 75, 100}));
}

TEST(Resize, TheMiddleIsTaken) {
  EXPECT_EQ(resized(grey(5, 1, {1, 2, 3, 4, 5}), {1, 1}).pixels, Pixels{3});
  EXPECT_EQ(resized(grey(4, 1, {1, 2, 3, 4}), {1, 1}).pixels, Pixels{2});  // the lower of two
  EXPECT_EQ(resized(grey(1, 5, {1, 2, 3, 4, 5}), {1, 3}).pixels, (Pixels{2, 3, 4}));
}

TEST(Resize, APictureOfThatSizeAndOneOfOneColourStay) {
  const Picture picture{7, 5, 3, some_pixels({1, 5, 7, 3})};
  EXPECT_EQ(resized(picture, {7, 5}), picture);
  for (const PictureSize size : {PictureSize{1, 1}, {3, 4}, {64, 9}, {100, 100}})
    for (const std::uint8_t value : {0, 1, 254, 255})
      for (const std::uint8_t pixel : resized(grey(9, 11, Pixels(99, value)), size).pixels)
        ASSERT_EQ(pixel, value);
}

TEST(Resize, TheLongestSidesDoNotOverflow) {
  EXPECT_EQ(resized(grey(65535, 1, Pixels(65535, 255)), {8192, 8192}).pixels,
            Pixels(std::size_t{8192} * 8192, 255));
  EXPECT_EQ(resized(grey(65535, 3, Pixels(196605, 255)), {8192, 1}).pixels, Pixels(8192, 255));
}

TEST(Channels, GreyIsOfTheWrittenWeights) {
  EXPECT_EQ(with_channels({4, 1, 3, {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}}, 1).pixels,
            (Pixels{76, 150, 29, 255}));
  EXPECT_EQ(with_channels(grey(2, 1, {7, 9}), 3).pixels, (Pixels{7, 7, 7, 9, 9, 9}));
  EXPECT_EQ(with_channels(grey(2, 1, {7, 9}), 1).pixels, (Pixels{7, 9}));
}

}  // namespace
}  // namespace lockstep::data
