// Sums: every implementation and thread count against the header's text, and partials against
// ranks.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

#include "lockstep/numerics/spec/functions.h"
#include "numerics/device.h"
#include "numerics/reference.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

Floats zeros(std::int64_t n) {
  return Floats(static_cast<std::size_t>(n));
}

RC_GTEST_PROP(RowSums, FollowTheBlockedChain, ()) {
  const std::int64_t rows = between(0, 70), cols = between(0, 9) == 0 ? 0 : random_length();
  const Floats a = random_floats(rows * cols), b = random_floats(rows * cols);
  Floats sums, dots, distances;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float *p = a.data() + i * cols, *q = b.data() + i * cols;
    sums.push_back(chain(cols, [&](float acc, std::int64_t j) { return acc + p[j]; }));
    dots.push_back(
        chain(cols, [&](float acc, std::int64_t j) { return std::fma(p[j], q[j], acc); }));
    distances.push_back(chain(cols, [&](float acc, std::int64_t j) {
      const float d = p[j] - q[j];
      return std::fma(d, d, acc);
    }));
  }
  expect_everywhere(joined({sums, dots, distances}), [&] {
    Floats out = zeros(3 * rows);
    device().row_sums(rows, cols, a.data(), out.data());
    device().row_dots(rows, cols, a.data(), b.data(), out.data() + rows);
    device().row_squared_distances(rows, cols, a.data(), b.data(), out.data() + 2 * rows);
    return out;
  });
}

RC_GTEST_PROP(SpatialSums, FollowTheBlockedChain, ()) {
  const std::int64_t n = between(0, 3), spatial = random_length(), c = between(1, 70);
  const Floats x = random_floats(n * spatial * c);
  Floats expected;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < c; ++j) {
      expected.push_back(chain(spatial, [&](float acc, std::int64_t s) {
        return acc + x[static_cast<std::size_t>((i * spatial + s) * c + j)];
      }));
    }
  }
  expect_everywhere(expected, [&] {
    Floats out = zeros(n * c);
    device().spatial_sums(n, spatial, c, x.data(), out.data());
    return out;
  });
}

RC_GTEST_PROP(LaneColumns, AreChainsInsideALaneThenTheTree, ()) {
  const LaneBlocks lanes = random_lanes();
  const std::int64_t cols = between(1, 140), rows = random_rows(lanes.samples() * cols, 150'000);
  const std::int64_t lane_rows = rows * lanes.samples_per_lane;
  const Floats a = random_floats(lanes.samples() * rows * cols);
  const auto at = [&](std::int64_t lane, std::int64_t i, std::int64_t j) {
    return static_cast<std::size_t>((lane * lane_rows + i) * cols + j);
  };
  const Floats sums = tree_of_lanes(lanes, cols, [&](std::int64_t lane, std::int64_t j) {
    return chain(lane_rows, [&](float acc, std::int64_t i) { return acc + a[at(lane, i, j)]; });
  });
  expect_everywhere(sums, [&] {
    Floats out = zeros(lanes.partials() * cols);
    device().lane_column_sums(lanes, rows, cols, a.data(), out.data());
    return out;
  });
}

RC_GTEST_PROP(LaneColumns, ComposeToTheSameSumAtEveryWorldSize, ()) {
  const std::int64_t total = between(1, 9), samples_per_lane = between(1, 3);
  const std::int64_t rows = between(1, 30), cols = between(1, 20);
  const Floats x = random_floats(total * samples_per_lane * rows * cols);
  expect_same_at_every_world_size(
      samples_per_lane, total, cols, [&](const LaneBlocks& lanes, std::int64_t first) {
        Floats out = zeros(lanes.partials() * cols);
        device().lane_column_sums(lanes, rows, cols, x.data() + first * rows * cols, out.data());
        return out;
      });
}

RC_GTEST_PROP(TileSquares, AreOneChainATile, ()) {
  std::vector<Floats> tensors;
  Floats expected;
  for (std::int64_t count = between(0, 4); count > 0; --count) {
    const std::int64_t n = *rc::gen::element<std::int64_t>(between(0, 600), between(0, 9000));
    const Floats& x = tensors.emplace_back(random_floats(n));
    for (std::int64_t first = 0; first < n; first += 4096) {
      const std::int64_t size = std::min<std::int64_t>(4096, n - first);
      expected.push_back(chain(size, [&](float acc, std::int64_t i) {
        const float v = x[static_cast<std::size_t>(first + i)];
        return std::fma(v, v, acc);
      }));
    }
  }
  expect_everywhere(expected, [&] {
    Floats out(expected.size());
    device().tile_squares(std::vector<std::span<const float>>(tensors.begin(), tensors.end()),
                          out.data());
    return out;
  });
}

TEST(Sums, KeepSubnormals) {
  const Floats x(100, std::bit_cast<float>(1u));  // the smallest
  with_every_isa([&] {
    Floats row(1), spatial(1);
    device().row_sums(1, 100, x.data(), row.data());
    device().spatial_sums(1, 100, 1, x.data(), spatial.data());
    EXPECT_EQ(bits_of(row[0]), 100u);
    EXPECT_EQ(bits_of(spatial[0]), 100u);
  });
}

TEST(Sums, StartFromPlusZeroSoThatNegativeZerosVanish) {
  const Floats x(600, -0.0f);
  with_every_isa([&] {
    Floats row(1, 1.0f), empty(1, 1.0f);
    device().row_sums(1, 600, x.data(), row.data());
    device().row_sums(1, 0, x.data(), empty.data());
    EXPECT_FALSE(std::signbit(row[0]));
    EXPECT_EQ(bits_of(empty[0]), 0u);
  });
}

// A GPU reads sixteen blocks of a chain at a time.
TEST(Sums, OfManyBlocksAreAddedInTheirOrder) {
  constexpr std::int64_t kRows = 37 * 512 + 100, kCols = 2;
  Floats x(kRows * kCols), expected;
  std::mt19937 engine(1);
  for (float& value : x)
    value = std::ldexp(static_cast<float>(static_cast<std::int32_t>(engine())),
                       -static_cast<int>(engine() % 40));
  for (std::size_t j = 0; j < kCols; ++j)
    expected.push_back(chain(kRows, [&](float acc, std::int64_t i) {
      return acc + x[static_cast<std::size_t>(i) * kCols + j];
    }));
  const auto sums = [&] {
    Floats out(kCols);
    device().spatial_sums(1, kRows, kCols, x.data(), out.data());
    return bits(out);
  };
  EXPECT_EQ(sums(), bits(expected));
  const OnGpu gpu;
  EXPECT_EQ(sums(), bits(expected));
}

// A product that underflows rounds a chain to -0, and nothing may be added to a single block.
TEST(Dots, KeepTheNegativeZeroOfASingleBlock) {
  const Floats a(40, -0x1p-100f), b(40, 0x1p-100f);
  with_every_isa([&] {
    Floats row(1, 1.0f);
    device().row_dots(1, 1, a.data(), b.data(), row.data());
    EXPECT_EQ(bits_of(row[0]), 0x80000000u);
  });
}

RC_GTEST_PROP(Softmax, FollowsTheHeader, ()) {
  const std::int64_t rows = between(0, 40), cols = random_length();
  const float scale = *rc::gen::element(1.0f, 0.125f, 0.70710677f, 17.0f, -3.0f);
  const Floats x = random_floats(rows * cols), dy = random_floats(rows * cols);
  Floats y(x.size()), dx(x.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    const float *in = x.data() + i * cols, *g = dy.data() + i * cols;
    float* out = y.data() + i * cols;
    float max = scale * in[0];
    for (std::int64_t j = 1; j < cols; ++j) max = std::max(max, scale * in[j]);
    Floats e;
    for (std::int64_t j = 0; j < cols; ++j) e.push_back(scalar::exp(scale * in[j] - max));
    const float sum = chain(
        cols, [&](float acc, std::int64_t j) { return acc + e[static_cast<std::size_t>(j)]; });
    for (std::int64_t j = 0; j < cols; ++j) out[j] = e[static_cast<std::size_t>(j)] / sum;
    const float d =
        chain(cols, [&](float acc, std::int64_t j) { return std::fma(out[j], g[j], acc); });
    for (std::int64_t j = 0; j < cols; ++j) {
      dx[static_cast<std::size_t>(i * cols + j)] = scale * (out[j] * (g[j] - d));
    }
  }
  expect_everywhere(joined({y, dx}), [&] {
    Floats forward(x.size()), backward(x.size());
    device().softmax(rows, cols, scale, x.data(), forward.data());
    device().softmax_backward(rows, cols, scale, forward.data(), dy.data(), backward.data());
    return joined({forward, backward});
  });
}

TEST(Softmax, OfARowWithNaNIsNaN) {
  with_every_isa([&] {
    for (std::size_t at = 0; at < 19; ++at) {
      Floats x(19, 1.0f);
      x[at] = NAN;
      device().softmax(1, 19, 1.0f, x.data(), x.data());
      for (const float v : x) EXPECT_TRUE(std::isnan(v));
    }
  });
}

RC_GTEST_PROP(UpsampleNearest, AndItsTransposeFollowTheHeader, ()) {
  const std::int64_t n = between(1, 3), c = between(1, 9);
  const std::int64_t h = between(1, 7), w = between(1, 7), oh = between(1, 15), ow = between(1, 15);
  const Floats x = random_floats(n * h * w * c), dy = random_floats(n * oh * ow * c);
  Floats y(dy.size()), dx(x.size(), 0.0f);
  for (std::int64_t i = 0; i < n * oh * ow * c; ++i) {
    const std::int64_t j = i % c, ox = i / c % ow, oy = i / c / ow % oh, s = i / c / ow / oh;
    const auto from = static_cast<std::size_t>(((s * h + oy * h / oh) * w + ox * w / ow) * c + j);
    y[static_cast<std::size_t>(i)] = x[from];
    dx[from] = dx[from] + dy[static_cast<std::size_t>(i)];
  }
  expect_everywhere(joined({y, dx}), [&] {
    Floats forward(y.size(), 1.0f), backward(dx.size(), 1.0f);
    device().upsample_nearest(n, h, w, c, oh, ow, x.data(), forward.data());
    device().upsample_nearest_backward(n, h, w, c, oh, ow, dy.data(), backward.data());
    return joined({forward, backward});
  });
}

}  // namespace
}  // namespace lockstep::numerics
