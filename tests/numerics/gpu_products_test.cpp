// Float products of CUDA's kernels against the CPU's, at the sizes where tiles, steps, blocks of
// the chain and their cut over a grid begin and end.
#include <gtest/gtest.h>

#include <limits>

#include "numerics/cuda/float_conv-inl.h"
#include "numerics/cuda/float_launch-inl.h"
#include "numerics/matrix_testing.h"
#include "support/gpu/gpu.h"

namespace lockstep::numerics {
namespace {
using namespace testing;

// Each seed has orders and a number of multiprocessors of its own.
void expect_same(std::int64_t count, const std::function<void(Device&, float*)>& kernel,
                 const std::string& what) {
  Floats expected(size(count), -777.0F);
  kernel(cpu(), expected.data());
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    Floats out(size(count), -777.0F);
    kernel(*test::gpu::make_gpu(seed), out.data());
    EXPECT_TRUE(same_bits(out, expected)) << what << ", seed " << seed;
  }
}

// Weight gradients of a linear layer are those of a convolution with one tap, which leaves no
// image: they are tiles wherever the other passes are.
TEST(GpuConv, CountsPlacesAroundPixelsOnlyForTapsThatLeaveThem) {
  constexpr std::int64_t kTokens = 1024, kWidth = 3072, kSamples = 340;
  static_assert(kSamples * kTokens * kWidth < std::int64_t{1} << 30);
  const ConvShape linear{kSamples, kTokens, 1, kWidth, 768, 1, 1, 1, 0};
  EXPECT_TRUE(cuda::fits_with_taps(linear));
  EXPECT_FALSE(cuda::fits_with_taps({kSamples, kTokens, 1, kWidth, 768, 3, 3, 1, 1}));
  EXPECT_FALSE(cuda::fits_with_taps({kSamples + 2, kTokens, 1, kWidth, 768, 1, 1, 1, 0}));
}

struct Matrices {
  std::int64_t batch, m, n, depth;
};

TEST(GpuGemm, IsTheChainInEveryLayout) {
  for (const Matrices& s : {Matrices{1, 4, 4, 4},
                            {2, 132, 136, 24},
                            {1, 252, 124, 1036},
                            {3, 68, 32, 520},
                            {2, 8, 12, 2600},
                            {16, 32, 32, 1036},
                            {1, 128, 256, 512},
                            {1, 1, 1, 1},
                            {1, 1, 1, 1536},
                            {1, 126, 1, 24},
                            {1, 8, 1, 128},  // spectral norm's: one column
                            {1, 14, 1, 224},
                            {1, 72, 1, 14},
                            {1, 5, 7, 13},
                            {1, 131, 67, 515},
                            {2, 49, 8, 49},
                            {1, 131, 68, 515},
                            {3, 3, 4, 2}}) {
    const Floats a = random_floats(s.batch * s.m * s.depth, 1),
                 b = random_floats(s.batch * s.depth * s.n, 2), bias = random_floats(s.n, 3);
    for (const bool turned_a : {false, true}) {
      for (const bool turned_b : {false, true}) {
        const Operand left = turned_a ? Operand{a.data(), 1, s.m, s.m * s.depth}
                                      : Operand{a.data(), s.depth, 1, s.m * s.depth};
        const Operand right = turned_b ? Operand{b.data(), 1, s.depth, s.n * s.depth}
                                       : Operand{b.data(), s.n, 1, s.n * s.depth};
        expect_same(
            s.batch * s.m * s.n,
            [&](Device& device, float* out) {
              device.gemm(s.batch, s.m, s.n, s.depth, left, right,
                          turned_a == turned_b ? bias.data() : nullptr, {out, s.n, s.m * s.n});
            },
            std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.depth));
      }
    }
  }
}

// As attention has them: heads side by side in the rows of samples.
TEST(GpuGemm, HasMatricesInBatches) {
  constexpr std::int64_t kSamples = 3, kHeads = 2;
  for (const auto& [d, tokens] :
       {std::array<std::int64_t, 2>{8, 20}, {7, 20}, {8, 49}, {7, 49}, {8, 1}}) {
    const std::int64_t c = kHeads * d, matrix = tokens * tokens;
    const Floats qk = random_floats(kSamples * tokens * 2 * c, 1);
    const Floats weights = random_floats(kSamples * kHeads * matrix, 2);
    const Operand q{qk.data(), 2 * c, 1, d, tokens * 2 * c},
        k{qk.data() + c, 1, 2 * c, d, tokens * 2 * c},
        v{qk.data() + c, 2 * c, 1, d, tokens * 2 * c};
    expect_same(
        std::ssize(weights),
        [&](Device& device, float* out) {
          device.gemm({kHeads, kSamples}, tokens, tokens, d, q, k, nullptr,
                      {out, tokens, matrix, kHeads * matrix});
        },
        std::to_string(d) + " along k");
    expect_same(
        kSamples * tokens * c,
        [&](Device& device, float* out) {
          device.gemm({kHeads, kSamples}, tokens, d, tokens,
                      {weights.data(), tokens, 1, matrix, kHeads * matrix}, v, nullptr,
                      {out, c, d, tokens * c});
        },
        std::to_string(d) + " columns");
    expect_same(
        kSamples * tokens * c,
        [&](Device& device, float* out) {
          device.gemm({kHeads, kSamples}, tokens, d, tokens,
                      {weights.data(), 1, tokens, matrix, kHeads * matrix}, v, nullptr,
                      {out, c, d, tokens * c});
        },
        std::to_string(d) + " columns, turned");
  }
}

TEST(GpuGemm, RowsOfResultsMayLieApartAndUnaligned) {
  const Floats a = random_floats(72 * 520, 1), b = random_floats(520 * 68, 2);
  for (const std::int64_t row : {68, 69, 72}) {
    expect_same(
        72 * row,
        [&](Device& device, float* out) {
          device.gemm(1, 72, 68, 520, {a.data(), 520, 1}, {b.data(), 68, 1}, nullptr, {out, row});
        },
        std::to_string(row));
  }
}

TEST(GpuGemm, DataMayBeUnaligned) {
  const Floats a = random_floats(8 * 12 + 4, 1), b = random_floats(12 * 8 + 4, 2);
  for (const auto& [skip_a, skip_b, skip] : {std::array<int, 3>{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}) {
    expect_same(
        68,
        [&, skip_a = skip_a, skip_b = skip_b, skip = skip](Device& device, float* out) {
          device.gemm(1, 8, 8, 12, {a.data() + skip_a, 12, 1}, {b.data() + skip_b, 8, 1}, nullptr,
                      {out + skip, 8});
        },
        std::to_string(skip));
  }
}

// What fills a last step adds -0, so a sum of -0 stays.
TEST(GpuGemm, NothingIsAddedToMinusZero) {
  const float tiny = std::ldexp(1.0F, -100);
  for (const std::int64_t depth : {4, 5, 12, 516, 517}) {
    const Floats a(size(8 * depth), -tiny), b(size(depth * 8), tiny);
    for (const bool turned : {false, true}) {
      const Operand right = turned ? Operand{b.data(), 1, depth} : Operand{b.data(), 8, 1};
      const auto product = [&](Device& device, float* out) {
        device.gemm(1, 8, 8, depth, {a.data(), depth, 1}, right, nullptr, {out, 8});
      };
      expect_same(64, product, std::to_string(depth));
      Floats out(64);
      product(*test::gpu::make_gpu(1), out.data());
      EXPECT_TRUE(same_bits(out, Floats(64, -0.0F)));
    }
  }
}

TEST(GpuLinear, RowsMayBeCutInTwo) {
  for (const auto& [rows, cut, in, out] : {std::array<std::int64_t, 4>{70, 8, 24, 36},
                                           {9, 512, 520, 64},
                                           {3, 5, 11, 7},
                                           {9, 8, 24, 10}}) {
    const Floats left = random_floats(rows * cut, 1), right = random_floats(rows * (in - cut), 2),
                 w = random_floats(in * out, 3), bias = random_floats(out, 4);
    expect_same(
        rows * out,
        [&, cut = cut, rows = rows, in = in, out = out](Device& device, float* y) {
          device.linear(rows, in, out, {left.data(), cut, right.data()}, w.data(), bias.data(), y);
        },
        std::to_string(in));
  }
}

TEST(GpuLinear, WidthsThatAreNoMultipleOfFourArePadded) {
  for (const auto& [rows, in, out] :
       {std::array<std::int64_t, 3>{70, 10, 1}, {5, 511, 33}, {5, 513, 33}, {3, 12, 10}}) {
    const Floats x = random_floats(rows * in, 1), w = random_floats(in * out, 2);
    expect_same(
        rows * out,
        [&, rows = rows, in = in, out = out](Device& device, float* y) {
          device.linear(rows, in, out, x.data(), w.data(), nullptr, y);
        },
        std::to_string(in));
  }
}

struct Layer {
  ConvShape s;
  std::int64_t lanes;
};

TEST(GpuConv, PassesEqualTheCpus) {
  for (const auto& [s, lanes] :
       {Layer{{.n = 2, .h = 5, .w = 5, .in = 4, .out = 4, .kh = 3, .kw = 3, .pad = 1}, 2},
        Layer{{.n = 1, .h = 8, .w = 8, .in = 64, .out = 96, .kh = 3, .kw = 3, .pad = 1}, 1},
        Layer{{.n = 4, .h = 8, .w = 7, .in = 8, .out = 36, .kh = 4, .kw = 4, .stride = 2, .pad = 1},
              2},
        Layer{{.n = 3, .h = 9, .w = 6, .in = 12, .out = 8, .kh = 3, .kw = 2, .stride = 2, .pad = 2},
              3},
        Layer{{.n = 2, .h = 20, .w = 20, .in = 4, .out = 32, .kh = 1, .kw = 1}, 1},
        Layer{{.n = 6, .h = 1, .w = 1, .in = 96, .out = 4, .kh = 1, .kw = 1}, 3},
        Layer{{.n = 1, .h = 6, .w = 6, .in = 4, .out = 8, .kh = 1, .kw = 1, .stride = 2}, 1},
        Layer{
            {.n = 1, .h = 1, .w = 1, .in = 4, .out = 640, .kh = 2, .kw = 2, .stride = 2, .pad = 1},
            1},
        Layer{{.n = 2, .h = 7, .w = 5, .in = 3, .out = 5, .kh = 3, .kw = 3, .pad = 1}, 2},
        Layer{{.n = 1, .h = 20, .w = 20, .in = 1, .out = 64, .kh = 5, .kw = 5, .pad = 2}, 1},
        Layer{{.n = 2, .h = 4, .w = 4, .in = 58, .out = 61, .kh = 3, .kw = 3, .pad = 1}, 1},
        Layer{{.n = 2, .h = 18, .w = 18, .in = 20, .out = 4, .kh = 17, .kw = 3, .pad = 1}, 1}}) {
    const std::int64_t results = s.n * s.out_h() * s.out_w() * s.out,
                       taps = s.kh * s.kw * s.in * s.out, pixels = s.n * s.h * s.w * s.in;
    const Floats x = random_floats(pixels, 1), w = random_floats(taps, 2),
                 dy = random_floats(results, 3), bias = random_floats(s.out, 4),
                 rows = random_floats(s.n * s.out, 5), values = random_floats(results, 6),
                 in_bias = random_floats(s.in, 7);
    const std::string what = std::to_string(s.in) + " to " + std::to_string(s.out) + ", " +
                             std::to_string(s.kh) + "x" + std::to_string(s.kw);
    const ConvShape shape = s;
    const LaneBlocks blocks{s.n / lanes, {lanes}};
    for (const Added& added : {Added{nullptr}, Added{bias.data(), rows.data(), values.data()}}) {
      expect_same(
          results,
          [&](Device& device, float* y) { device.conv2d(shape, x.data(), w.data(), added, y); },
          what);
    }
    for (const float* const one : {static_cast<const float*>(nullptr), in_bias.data()}) {
      expect_same(
          pixels,
          [&](Device& device, float* dx) {
            device.conv2d_input_grad(shape, dy.data(), w.data(), one, dx);
          },
          what);
    }
    expect_same(
        taps,
        [&](Device& device, float* dw) {
          device.conv2d_weight_grad(shape, blocks, x.data(), dy.data(), dw);
        },
        what);
  }
}

TEST(GpuConv, PadsOfChannelsAddNothingToMinusZero) {
  const ConvShape s{.n = 1, .h = 2, .w = 2, .in = 3, .out = 3, .kh = 1, .kw = 1};
  const float tiny = std::ldexp(1.0F, -100);
  const Floats x(12, -tiny), w(9, tiny);
  const auto gpu = test::gpu::make_gpu(1);
  Floats y(12), dx(12);
  gpu->conv2d(s, x.data(), w.data(), nullptr, y.data());
  gpu->conv2d_input_grad(s, x.data(), w.data(), nullptr, dx.data());
  EXPECT_TRUE(same_bits(y, Floats(12, -0.0F)));
  EXPECT_TRUE(same_bits(dx, Floats(12, -0.0F)));
}

TEST(GpuConv, TapsOutsideTheImageAreMultipliedNotSkipped) {
  const float infinite = std::numeric_limits<float>::infinity();
  const ConvShape s{.n = 1, .h = 1, .w = 1, .in = 4, .out = 4, .kh = 3, .kw = 3, .pad = 1};
  const Floats x(4, 1.0F), w(9 * 16, infinite), dy(4, infinite);
  const auto gpu = test::gpu::make_gpu(1);
  Floats y(4), dw(9 * 16), dx(4);
  gpu->conv2d(s, x.data(), w.data(), nullptr, y.data());
  gpu->conv2d_input_grad(s, x.data(), w.data(), nullptr, dx.data());
  gpu->conv2d_weight_grad(s, {1, {1}}, x.data(), dy.data(), dw.data());
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(dx[0]));
  EXPECT_TRUE(std::isnan(dw[0]));
}

// One multiprocessor takes each tile for results of its own shape.
struct TileOf {
  cuda::TileKind kind;
  int m, n;
};
constexpr TileOf kTiles[] = {{cuda::TileKind::k128x128, 256, 128},
                             {cuda::TileKind::k128x64, 256, 64},
                             {cuda::TileKind::k64x64, 64, 128},
                             {cuda::TileKind::k128x32, 256, 32},
                             {cuda::TileKind::k32x32, 32, 32}};

void expect_same_by_tile(const TileOf& tile, int depth,
                         const std::function<void(Device&, float*)>& kernel,
                         const std::string& what) {
  const std::string name = what + " of " + std::to_string(tile.m) + "x" + std::to_string(tile.n);
  ASSERT_EQ(cuda::cut_of({1, tile.m, tile.n, depth}, 1).tile, tile.kind) << name;
  Floats expected(size(tile.m * tile.n)), out(size(tile.m * tile.n));
  kernel(cpu(), expected.data());
  kernel(*test::gpu::make_gpu(1, 1), out.data());
  EXPECT_TRUE(same_bits(out, expected)) << name;
}

TEST(GpuTiles, AreAlikeForEveryOperand) {
  for (const TileOf& tile : kTiles) {
    const std::int64_t m = tile.m, n = tile.n, depth = 556;
    const Floats a = random_floats(m * depth, 1), b = random_floats(depth * n, 2);
    for (const bool turned_a : {false, true}) {
      for (const bool turned_b : {false, true}) {
        const Operand left = turned_a ? Operand{a.data(), 1, m} : Operand{a.data(), depth, 1};
        const Operand right = turned_b ? Operand{b.data(), 1, depth} : Operand{b.data(), n, 1};
        expect_same_by_tile(
            tile, depth,
            [&](Device& device, float* out) {
              device.gemm(1, m, n, depth, left, right, nullptr, {out, n});
            },
            "gemm " + std::to_string(turned_a) + std::to_string(turned_b));
      }
    }
    expect_same_by_tile(
        tile, depth,
        [&](Device& device, float* y) {
          device.linear(m, depth, n, {a.data(), 28, a.data() + m * 28}, b.data(), nullptr, y);
        },
        "linear");
  }
}

TEST(GpuTiles, AreAlikeForEveryConvolution) {
  for (const TileOf& tile : kTiles) {
    const ConvShape forward{
        .n = 1, .h = tile.m / 8, .w = 8, .in = 12, .out = tile.n, .kh = 3, .kw = 3, .pad = 1};
    ConvShape back = forward, weights{.n = 2,
                                      .h = 5,
                                      .w = 9,
                                      .in = tile.m / 4,
                                      .out = tile.n,
                                      .kh = 2,
                                      .kw = 2,
                                      .pad = 1};
    back.in = tile.n, back.out = 12;
    const auto x = [](const ConvShape& s) { return random_floats(s.n * s.h * s.w * s.in, 1); };
    const auto w = [](const ConvShape& s) { return random_floats(s.kh * s.kw * s.in * s.out, 2); };
    const auto dy = [](const ConvShape& s) {
      return random_floats(s.n * s.out_h() * s.out_w() * s.out, 3);
    };
    expect_same_by_tile(
        tile, 108,
        [&](Device& device, float* y) {
          device.conv2d(forward, x(forward).data(), w(forward).data(), nullptr, y);
        },
        "conv2d");
    expect_same_by_tile(
        tile, 108,
        [&](Device& device, float* dx) {
          device.conv2d_input_grad(back, dy(back).data(), w(back).data(), nullptr, dx);
        },
        "conv2d_input_grad");
    expect_same_by_tile(
        tile, 120,
        [&](Device& device, float* dw) {
          device.conv2d_weight_grad(weights, {2, {1}}, x(weights).data(), dy(weights).data(), dw);
        },
        "conv2d_weight_grad");
  }
}

TEST(GpuCut, FitsTheTileToTheShape) {
  using namespace cuda;
  constexpr int kMany = 132;  // multiprocessors of an H100
  EXPECT_EQ(cut_of({1, 1 << 18, 128, 512}, kMany).tile, TileKind::k128x128);
  EXPECT_EQ(cut_of({1, 1 << 18, 64, 512}, kMany).tile, TileKind::k128x64);
  EXPECT_EQ(cut_of({1, 1 << 18, 3, 512}, kMany).tile, TileKind::k128x32);
  EXPECT_EQ(cut_of({1, 64, 1 << 14, 512}, kMany).tile, TileKind::k64x64);
  EXPECT_EQ(cut_of({1, 512, 512, 512}, kMany).tile, TileKind::k32x32);
}

TEST(GpuCut, TakesSmallTilesOnlyWhileMultiprocessorsWouldBeIdle) {
  using namespace cuda;
  constexpr int kMany = 132;
  const auto of = [](int rows) { return cut_of({1, rows, 128, 512}, kMany).tile; };
  EXPECT_EQ(of(16), TileKind::k32x32);
  EXPECT_EQ(of(32 * kMany / 4), TileKind::k32x32);
  for (int rows = 64 * kMany; rows < 1024 * kMany; rows += 4999)
    EXPECT_NE(of(rows), TileKind::k32x32) << rows;
}

TEST(GpuCut, TakesAChainsBlocksSideBySideWhereTilesAreFew) {
  using namespace cuda;
  EXPECT_EQ(cut_of({1, 1 << 18, 128, 4096}, 132).at_once, 0);
  EXPECT_EQ(cut_of({1, 128, 128, 512}, 132).at_once, 0);
  const Cut weight_grad = cut_of({8, 576, 64, 65536}, 132);
  EXPECT_EQ(weight_grad.parts, 128);
  EXPECT_GT(weight_grad.at_once, 1);
  EXPECT_LT(weight_grad.at_once, 128);
}

}  // namespace
}  // namespace lockstep::numerics
