// What ops compose from kernels, against plain double arithmetic. Tolerance: binary32 results of a
// few dozen operations on values near 1, so an error of some 1e-6; a wrong factor or index is far
// outside of 2e-5.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/ops/ops.h"
#include "ops/finite_differences.h"

namespace lockstep::ops {
namespace {

using namespace lockstep::ops::testing;

constexpr double kNear = 2e-5;

TEST(Values, OfAttention) {
  const std::int64_t n = 2, tokens = 5, c = 6, heads = 2, d = c / heads;
  const Tensor qkv = values({n, tokens, 3 * c}, 1), out = attention(qkv, heads);
  const auto at = [&](std::int64_t i, std::int64_t t, std::int64_t which, std::int64_t channel) {
    return static_cast<double>(read(qkv)[(i * tokens + t) * 3 * c + which * c + channel]);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t channel = 0; channel < c; ++channel) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        const std::int64_t first = channel / d * d;
        double total = 0, weighted = 0;
        for (std::int64_t s = 0; s < tokens; ++s) {
          double score = 0;
          for (std::int64_t j = first; j < first + d; ++j) score += at(i, t, 0, j) * at(i, s, 1, j);
          const double weight = std::exp(score / std::sqrt(static_cast<double>(d)));
          total += weight;
          weighted += weight * at(i, s, 2, channel);
        }
        EXPECT_NEAR(read(out)[(i * tokens + t) * c + channel], weighted / total, kNear);
      }
    }
  }
}

TEST(Values, OfMeanSquaredError) {
  const Tensor a = values({3, 7}, 1), b = values({3, 7}, 2), out = mean_squared_error(a, b);
  for (std::int64_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (std::int64_t j = i * 7; j < i * 7 + 7; ++j) {
      const double difference = static_cast<double>(read(a)[j]) - static_cast<double>(read(b)[j]);
      sum += difference * difference;
    }
    EXPECT_NEAR(read(out)[i], sum / 7, kNear);
  }
}

TEST(Values, SpectralNormalizeDividesByTheLargestSingularValue) {
  Tensor w = filled({3, 3}, 0.0F), u = filled({3}, 1.0F), v = filled({3}, 1.0F);
  write(w)[0] = 0.5F;
  write(w)[4] = -3.0F;
  write(w)[8] = 1.0F;
  for (int i = 0; i < 20; ++i) power_iteration(w, u, v);
  const Tensor out = spectral_normalize(w, u, v);
  EXPECT_NEAR(read(out)[0], 0.5 / 3, kNear);
  EXPECT_NEAR(read(out)[4], -1, kNear);
  EXPECT_NEAR(read(out)[8], 1.0 / 3, kNear);
}

TEST(Values, OfConcatAndReshape) {
  const Tensor a = values({2, 2}, 1), b = values({2, 1}, 2);
  const Tensor both = ops::reshape(concat_channels(a, b), {6});
  const float expected[] = {read(a)[0], read(a)[1], read(b)[0], read(a)[2], read(a)[3], read(b)[1]};
  EXPECT_EQ(std::memcmp(read(both), expected, sizeof expected), 0);
}

// Slices that differ act each on their subtree's samples, as if the others were not there.
// Patches from the top left on, each from its own top left on.
TEST(Values, OfPatches) {
  Tensor x = empty({2, 4, 6, 1});
  for (std::int64_t i = 0; i < x.numel(); ++i) write(x)[i] = static_cast<float>(i);
  const Tensor rows = patches(x, 2);
  ASSERT_EQ(rows.sizes(), at::IntArrayRef({2, 6, 4}));
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const std::int64_t sample = i / 24, patch = i / 4 % 6, y = patch / 3 * 2 + i / 2 % 2,
                       column = patch % 3 * 2 + i % 2;
    EXPECT_EQ(read(rows)[i], static_cast<float>(24 * sample + 6 * y + column)) << i;
  }
  const Tensor back = from_patches(rows, 2, 4, 6);
  ASSERT_EQ(back.sizes(), x.sizes());
  EXPECT_EQ(std::memcmp(read(back), read(x), x.nbytes()), 0);
}

// A sample's modulation is a shift and then a scale, less 1; tokens (3, 1) and (-5, 5) have the
// norms (1, -1) and (-1, 1).
TEST(Values, OfAdaptiveLayerNormAndGates) {
  const auto of = [](const std::vector<float>& values, at::IntArrayRef sizes) {
    Tensor x = empty(sizes);
    std::copy(values.begin(), values.end(), write(x));
    return x;
  };
  const Tensor x = of({3, 1, -5, 5, 3, 1, -5, 5}, {2, 2, 2}),
               modulation = of({10, 20, 1, 2, 0, 1, -1, 3}, {2, 4});
  const Tensor y = adaptive_layer_norm(x, modulation, 0.0F);
  const std::vector<float> wanted = {12, 17, 8, 23, 0, -3, 0, 5};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(read(y)[i], wanted[i], kNear) << i;
  const Tensor sum = gated_add(x, y, of({1, 0, -1, 2}, {2, 2}));
  const std::vector<float> gated = {15, 1, 3, 5, 3, -5, -5, 15};
  for (std::size_t i = 0; i < gated.size(); ++i) EXPECT_NEAR(read(sum)[i], gated[i], kNear) << i;
}

TEST(Values, PartialsActOnTheirOwnSamples) {
  const LaneBlocks lanes{3, {2, 1}}, left{3, {2}}, right{3, {1}};
  const Tensor x = values({9, 4}, 1), w = values({2, 4, 5}, 2), b = values({2, 5}, 3);
  const Tensor both = linear(lanes, x, w, b);
  const auto part = [](const Tensor& t, std::int64_t first, std::int64_t count) {
    return t.narrow(0, first, count).contiguous();
  };
  const Tensor a = linear(left, part(x, 0, 6), part(w, 0, 1), part(b, 0, 1));
  const Tensor c = linear(right, part(x, 6, 3), part(w, 1, 1), part(b, 1, 1));
  EXPECT_EQ(std::memcmp(read(both), read(a), a.nbytes()), 0);
  EXPECT_EQ(std::memcmp(read(both) + a.numel(), read(c), c.nbytes()), 0);
}

TEST(Values, ShapesThatDoNotFitAreRefused) {
  const LaneBlocks lanes{3, {1}};
  const Tensor x = values({3, 3, 2, 2}, 1), w = values({1, 3, 3, 3, 2}, 2);
  EXPECT_THROW(conv2d_transpose(lanes, x, w, Tensor(), {.stride = 2, .pad = 1}, 9, 4), Error);
  EXPECT_THROW(linear(lanes, values({4, 5}, 3), values({1, 5, 2}, 4), Tensor()), Error);
  EXPECT_THROW(linear(lanes, values({3, 5}, 3), values({2, 5, 2}, 4), Tensor()), Error);
  EXPECT_THROW(ops::add(values({3, 2}, 5), values({3}, 6)), Error);
}

}  // namespace
}  // namespace lockstep::ops
