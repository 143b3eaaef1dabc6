#include "lockstep/numerics/philox.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "lockstep/numerics/spec/normal.h"
#include "numerics/device.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

// Random123's kat_vectors.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

float expected_uniform(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}

RC_GTEST_PROP(Philox, FillsAreFunctionsOfTheElementIndex, ()) {
  const Stream stream = {.key = {*rc::gen::arbitrary<std::uint32_t>(), 7},
                         .micro = *rc::gen::arbitrary<std::uint32_t>()};
  const auto position = *rc::gen::arbitrary<std::uint64_t>();
  const auto n = *rc::gen::inRange<std::size_t>(0, 10000);
  std::vector<std::uint32_t> bits(n + 1);
  for (std::size_t i = 0; i < n + 1; ++i) {
    const PhiloxBlock words = philox(stream.key, {static_cast<std::uint32_t>(position),
                                                  static_cast<std::uint32_t>(position >> 32),
                                                  static_cast<std::uint32_t>(i / 4), stream.micro});
    bits[i] = words[i % 4];
  }
  const auto size = static_cast<std::int64_t>(n);
  with_every_isa([&] {
    for (const int count : {1, 2, 7}) {
      use_threads(count);
      std::vector<std::uint32_t> raw(n);
      std::vector<float> uniforms(n), normals(n);
      device().fill_bits(stream, position, size, raw.data());
      device().fill_uniform(stream, position, size, uniforms.data());
      device().fill_normal(stream, position, 1, size, normals.data());
      use_threads(1);
      for (std::size_t i = 0; i < n; ++i) {
        RC_ASSERT(raw[i] == bits[i]);
        RC_ASSERT(bits_of(uniforms[i]) == bits_of(expected_uniform(bits[i])));
        const std::size_t pair = i / 2 * 2;
        const float radius = scalar::sqrt(-2.0f * scalar::log(1.0f - expected_uniform(bits[pair])));
        const float angle = expected_uniform(bits[pair + 1]) * 0x1.921fb6p+2f;
        const float normal = radius * (i == pair ? scalar::cos(angle) : scalar::sin(angle));
        RC_ASSERT(bits_of(normals[i]) == bits_of(normal));
      }
    }
  });
}

// Rows of positions from the first on, which may carry into the upper word; each row is a draw.
RC_GTEST_PROP(Philox, RowsOfNormalsAreTheDrawsOfTheirPositions, ()) {
  const Stream stream = {.key = {*rc::gen::arbitrary<std::uint32_t>(), 7},
                         .micro = *rc::gen::arbitrary<std::uint32_t>()};
  const auto rows = *rc::gen::inRange<std::size_t>(0, 9);
  const auto n = *rc::gen::element<std::size_t>(0, 1, 2, 3, 5, 1023, 1024, 1025, 2047, 3073, 6001);
  const std::uint64_t first = *rc::gen::element<std::uint64_t>(
      0, 0xfffffffe, 0xfffffffffffffffe, *rc::gen::arbitrary<std::uint64_t>());
  std::vector<float> expected;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t position = first + row;
    for (std::size_t i = 0; i < n; ++i) {
      const auto even = static_cast<std::int64_t>(i / 2 * 2);
      const Normals pair =
          normals(bits_of(stream, position, even), bits_of(stream, position, even + 1));
      expected.push_back(i % 2 == 0 ? pair.even : pair.odd);
    }
  }
  with_every_isa([&] {
    for (const int count : {1, 2, 7}) {
      use_threads(count);
      std::vector<float> out(rows * n);
      device().fill_normal(stream, first, static_cast<std::int64_t>(rows),
                           static_cast<std::int64_t>(n), out.data());
      use_threads(1);
      RC_ASSERT(first_difference(out, expected) == -1);
    }
  });
}

RC_GTEST_PROP(Philox, MasksAreUniformsBelowARate, (std::uint64_t first)) {
  const Stream stream = {.key = {*rc::gen::arbitrary<std::uint32_t>(), 7}, .micro = 3};
  const auto rows = *rc::gen::inRange<std::int64_t>(0, 5);
  const auto n = *rc::gen::element<std::int64_t>(0, 1, 3, 5, 1024, 1025, 3073);
  // A rate that is a uniform itself: that element is kept.
  std::vector<float> uniforms(static_cast<std::size_t>(n));
  device().fill_uniform(stream, first, n, uniforms.data());
  const float rate = n > 0 ? uniforms[static_cast<std::size_t>(n / 2)] : 0.5F;
  for (const int count : {1, 7}) {
    use_threads(count);
    std::vector<float> out(static_cast<std::size_t>(rows * n));
    device().fill_mask(stream, first, rows, n, rate, 1.25F, out.data());
    use_threads(1);
    for (std::int64_t row = 0; row < rows; ++row) {
      device().fill_uniform(stream, first + static_cast<std::uint64_t>(row), n, uniforms.data());
      for (std::int64_t i = 0; i < n; ++i)
        RC_ASSERT(bits_of(out[static_cast<std::size_t>(row * n + i)]) ==
                  bits_of(uniforms[static_cast<std::size_t>(i)] < rate ? 0.0F : 1.25F));
    }
  }
}

// One element alone, what a kernel of a device computes: the same as the element of a fill.
RC_GTEST_PROP(Philox, ElementsAreThoseOfFills, (std::uint64_t position, std::uint32_t micro)) {
  const Stream stream = {.key = {*rc::gen::arbitrary<std::uint32_t>(), 7}, .micro = micro};
  constexpr std::size_t kCount = 1002;  // blocks that are not whole
  std::vector<std::uint32_t> raw(kCount);
  std::vector<float> uniforms(kCount), drawn(kCount);
  device().fill_bits(stream, position, kCount, raw.data());
  device().fill_uniform(stream, position, kCount, uniforms.data());
  device().fill_normal(stream, position, 1, kCount, drawn.data());
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::uint32_t bits = bits_of(stream, position, static_cast<std::int64_t>(i));
    RC_ASSERT(bits == raw[i]);
    RC_ASSERT(bits_of(uniform(bits)) == bits_of(uniforms[i]));
    const Normals pair = normals(raw[i / 2 * 2], raw[i / 2 * 2 + 1]);
    RC_ASSERT(bits_of(i % 2 == 0 ? pair.even : pair.odd) == bits_of(drawn[i]));
  }
  RC_ASSERT(draw_below(stream, position, 2, 1000) == below(raw[2], 1000));
}

// Six standard errors of 2^20 samples of N(0, 1).
TEST(Philox, NormalsHaveMeanZeroAndVarianceOne) {
  constexpr std::int64_t kCount = 1 << 20;
  std::vector<float> x(kCount);
  device().fill_normal({.key = {1, 2}}, 3, 1, kCount, x.data());
  double sum = 0, squares = 0;
  for (const float v : x) {
    sum += v;
    squares += double{v} * v;
  }
  EXPECT_LT(std::fabs(sum / kCount), 6.0 / 1024);
  EXPECT_LT(std::fabs(squares / kCount - 1), 6.0 * 1.4143 / 1024);
}

RC_GTEST_PROP(Philox, DrawBelowStaysBelow, (std::uint64_t position, std::uint32_t any)) {
  const std::uint32_t bound = any == 0 ? 1 : any;
  const int word = *rc::gen::inRange(0, 4);
  RC_ASSERT(draw_below({.key = {5, 6}}, position, word, bound) < bound);
}

}  // namespace
}  // namespace lockstep::numerics
