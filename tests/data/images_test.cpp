#include "lockstep/data/images.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lockstep/hash/merkle.h"
#include "support.h"
#include "support/cpu.h"

namespace lockstep::data {
namespace {

TEST(Images, ASampleIsItsBytesMadeFloats) {
  const ImageShape shape{3, 2, 5, 3};
  const auto pixels = some_pixels(shape);
  const Images images(shape, pixels);
  EXPECT_EQ(images.size(), 3);
  EXPECT_EQ(images.sample_shape(), (std::vector<std::int64_t>{2, 5, 3}));
  EXPECT_EQ(images.sample_values(), 30);
  std::vector<float> got(30), expected(30);
  images.read(Sample(2), got.data());
  numerics::cpu().from_bytes(30, pixels.data() + 60, expected.data());
  EXPECT_EQ(got, expected);
}

TEST(Images, ASampleOutsideIsABug) {
  const Images images({1, 1, 1, 1}, {7});
  float out;
  error_line(Code::kBug, [&] { images.read(Sample(1), &out); });
  error_line(Code::kBug, [&] { images.read(Sample(-1), &out); });
}

TEST(Images, HashFollowsTheWrittenDefinition) {
  const ImageShape shape{2, 3, 4, 1};
  const auto pixels = some_pixels(shape);
  Bytes text;
  for (const char c : std::string_view("lockstep images 1\n")) text.push_back(std::byte(c));
  for (const std::uint64_t size : {2, 3, 4, 1}) put_u64_le(text, size);
  const auto tree = hash::tree_digest(std::as_bytes(std::span(pixels)));
  text.insert(text.end(), tree.bytes.begin(), tree.bytes.end());
  EXPECT_EQ(Images(shape, pixels).hash(), hash::sha256(text));
}

RC_GTEST_PROP(Images, HashSeesEveryPixelAndTheShape, ()) {
  const ImageShape shape{*rc::gen::inRange(1, 20), *rc::gen::inRange(1, 9), 6, 1};
  auto pixels = some_pixels(shape);
  const auto hash = content_hash(shape, pixels);
  RC_ASSERT(hash != content_hash({shape.n, shape.h, 2, 3}, pixels));
  pixels[*rc::gen::inRange<std::size_t>(0, pixels.size())] ^= 1;
  RC_ASSERT(hash != content_hash(shape, pixels));
}

RC_GTEST_PROP(Images, SizesAreCheckedWithoutOverflow, ()) {
  const auto size = [] {
    return *rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(),
                           rc::gen::inRange<std::uint64_t>(0, 70000));
  };
  const std::uint64_t n = size(), h = size(), w = size(), c = *rc::gen::inRange(0, 5);
  // 128 bits hold n < 2^64 times three sizes only where the sides are small; else it is refused.
  const bool sides = h >= 1 && w >= 1 && h <= 65535 && w <= 65535 && (c == 1 || c == 3);
  __extension__ using Wide = unsigned __int128;
  const bool fits = sides && n >= 1 && Wide{n} * h * w * c <= kMaxImageBytes;
  try {
    const std::uint64_t bytes = checked_image_bytes(n, h, w, c);
    RC_ASSERT(fits);
    RC_ASSERT(Wide{bytes} == Wide{n} * h * w * c);
  } catch (const Error& e) {
    RC_ASSERT(!fits);
    RC_ASSERT(e.code() == Code::kData);
  }
}

}  // namespace
}  // namespace lockstep::data
