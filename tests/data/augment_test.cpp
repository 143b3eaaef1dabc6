#include "lockstep/data/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lockstep/data/batch.h"
#include "lockstep/data/images.h"
#include "lockstep/data/shapes.h"
#include "lockstep/numerics/stream.h"
#include "support.h"

namespace lockstep::data {
namespace {

constexpr ImageShape kShape{2, 5, 7, 3};
constexpr std::uint64_t kSeed = 9;

const Images& images() {
  static const Images it(kShape, some_pixels(kShape));
  return it;
}

Options options(bool flip, std::int64_t crop) {
  Options o;
  o.flip = flip;
  o.crop = crop;
  return o;
}

std::vector<float> sample(std::int64_t i) {
  std::vector<float> values(static_cast<std::size_t>(kShape.image_bytes()));
  images().read(Sample(i), values.data());
  return values;
}

// The picture moved down and right as a window over it, by hand.
std::vector<float> moved(const std::vector<float>& old, std::int64_t down, std::int64_t right,
                         bool mirrored) {
  const auto mirror = [](std::int64_t i, std::int64_t size) {
    const std::int64_t period = 2 * (size - 1);
    const std::int64_t at = (i % period + period) % period;
    return std::min(at, period - at);
  };
  std::vector<float> made;
  for (std::int64_t y = 0; y < kShape.h; ++y)
    for (std::int64_t x = 0; x < kShape.w; ++x)
      for (std::int64_t c = 0; c < kShape.c; ++c) {
        const std::int64_t column = mirrored ? kShape.w - 1 - x : x;
        const std::int64_t pixel =
            mirror(y + down, kShape.h) * kShape.w + mirror(column + right, kShape.w);
        made.push_back(old[static_cast<std::size_t>(pixel * kShape.c + c)]);
      }
  return made;
}

TEST(Augment, APictureIsMovedAndMirroredByTheWordsOfItsDraw) {
  const numerics::Stream words = numerics::stream(kSeed, "data/augment");
  for (const bool flip : {false, true}) {
    for (const std::int64_t crop : {0, 1, 4}) {
      const Augment augment(options(flip, crop), images(), kSeed);
      std::set<std::vector<float>> seen;
      for (std::int64_t draw = 0; draw < 300; ++draw) {
        const auto below = [&](std::uint32_t bound, int word) -> std::int64_t {
          return numerics::draw_below(words, static_cast<std::uint64_t>(draw), word, bound);
        };
        const auto range = static_cast<std::uint32_t>(2 * crop + 1);
        std::vector<float> values = sample(0);
        augment.apply(Draw(draw), values.data());
        EXPECT_EQ(values, moved(sample(0), below(range, 1) - crop, below(range, 2) - crop,
                                flip && below(2, 0) == 1));
        seen.insert(values);
      }
      const std::size_t forms = static_cast<std::size_t>((2 * crop + 1) * (2 * crop + 1));
      EXPECT_GE(seen.size(), crop < 4 ? forms * (flip ? 2 : 1) : 72u);  // 4 up is 4 down
    }
  }
}

TEST(Augment, ABatchIsAugmentedByDrawsWhereverItIsCut) {
  const Order order(numerics::stream(kSeed, "data/order"), kShape.n);
  const Augment augment(options(true, 2), images(), kSeed);
  const Batch batch = assemble(images(), order, Draw(3), 6, augment);
  for (std::int64_t i = 0; i < 6; ++i) {
    const Batch one = assemble(images(), order, Draw(3 + i), 1, augment);
    EXPECT_TRUE(std::ranges::equal(
        one.values, std::span(batch.values).subspan(static_cast<std::size_t>(i) * 105, 105)));
  }
  EXPECT_NE(batch.values, assemble(images(), order, Draw(3), 6).values);
}

TEST(Augment, WhatCannotBeAugmentedIsRefusedWhenTheDataAreOpened) {
  Options o = options(true, 0);
  o.kind = "mixture";
  EXPECT_EQ(
      error_line(Code::kUsage, [&] { open(o); }),
      "[data]: flip and crop are for pictures and fields, these data are points (leave them out)");
  o.kind = "shapes";
  o.kind.as<ShapesOptions>().side = 8;
  o.crop = 7;
  EXPECT_EQ(open(o)->sample_shape()[0], 8);
  o.crop = 8;
  EXPECT_EQ(error_line(Code::kUsage, [&] { open(o); }),
            "[data]: crop: 8, the pictures are 8 wide and 8 high (set data.crop below 8)");
}

}  // namespace
}  // namespace lockstep::data
