// Distances of sets whose answer is known, and their bits by any number of threads. Those of other
// sets are recomputed by tests/reference/training/test_evaluation.py.
#include "lockstep/evaluation/distances.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/numerics/philox.h"

namespace lockstep::evaluation {
namespace {

constexpr std::int64_t kCount = 400, kWidth = 6;

Features normals(std::uint32_t key, float scale = 1, float shift = 0, std::int64_t count = kCount) {
  Features made{kWidth, std::vector<float>(static_cast<std::size_t>(count * kWidth))};
  numerics::Cpu().fill_normal({.key = {key, 3}, .micro = 0}, 0, 1, count * kWidth,
                              made.values.data());
  for (float& v : made.values) v = v * scale + shift;
  return made;
}

// Classes: clusters far from each other, of which the first `classes` are there.
Features clusters(std::uint32_t key, std::int64_t classes) {
  Features made = normals(key);
  for (std::int64_t i = 0; i < kCount; ++i)
    made.values[static_cast<std::size_t>(i * kWidth + i % classes % kWidth)] += 30;
  return made;
}

TEST(Frechet, OfASetAndItselfIsZero) {
  const Features x = normals(1);
  EXPECT_NEAR(frechet_distance(x, x), 0, 1e-12);
}

// |m - n|^2 of a shift; of a scale s the sum over features of (1 - s)^2 variances.
TEST(Frechet, OfNormalDistributionsIsTheFormula) {
  const Features x = normals(1);
  Features shifted = x, scaled = x;
  for (float& v : shifted.values) v += 2;
  for (float& v : scaled.values) v *= 3;
  EXPECT_NEAR(frechet_distance(x, shifted), kWidth * 4.0, 1e-5);
  double variance = 0, means = 0;
  for (std::size_t f = 0; f < kWidth; ++f) {
    double sum = 0, squares = 0;
    for (std::size_t i = f; i < x.values.size(); i += kWidth) {
      sum += x.values[i];
      squares += double{x.values[i]} * x.values[i];
    }
    variance += (squares - sum * sum / kCount) / (kCount - 1);
    means += (sum / kCount) * (sum / kCount);
  }
  EXPECT_NEAR(frechet_distance(x, scaled), 4 * (variance + means), 1e-5);
}

TEST(Kernel, IsTheSumOverPairs) {
  const Features x{1, {0, 1, 2}}, y{1, {1, 3}};
  const auto k = [](double a, double b) { return std::pow(a * b + 1, 3); };
  const double xx = 2 * (k(0, 1) + k(0, 2) + k(1, 2)) / 6, yy = 2 * k(1, 3) / 2,
               xy = (k(0, 1) + k(0, 3) + k(1, 1) + k(1, 3) + k(2, 1) + k(2, 3)) / 6;
  numerics::Cpu cpu;
  EXPECT_NEAR(kernel_distance(x, y, cpu), xx + yy - 2 * xy, 1e-12);
}

TEST(Kernel, OfOneDistributionIsSmallAndOfTwoLarge) {
  numerics::Cpu cpu;
  const double same = kernel_distance(normals(1), normals(2), cpu),
               other = kernel_distance(normals(1), normals(2, 1, 1), cpu);
  EXPECT_LT(std::abs(same), 0.05);
  EXPECT_GT(other, 1);
}

TEST(Neighbours, OfASetAndItself) {
  numerics::Cpu cpu;
  const Features x = normals(1);
  const Neighbourhoods of = neighbourhoods(x, x, cpu);
  EXPECT_EQ(of.precision, 1);
  EXPECT_EQ(of.recall, 1);
  EXPECT_EQ(of.coverage, 1);
  EXPECT_GE(of.density, 1);
}

TEST(Neighbours, OfTwoHalvesOfOneDistribution) {
  numerics::Cpu cpu;
  const Neighbourhoods of = neighbourhoods(normals(1), normals(2), cpu);
  EXPECT_GT(of.precision, 0.6);
  EXPECT_GT(of.recall, 0.6);
  EXPECT_NEAR(of.density, 1, 0.2);
  EXPECT_GT(of.coverage, 0.85);
}

TEST(Neighbours, OfNoiseFarAwayAreNone) {
  numerics::Cpu cpu;
  const Neighbourhoods of = neighbourhoods(normals(1), normals(2, 1, 100), cpu);
  EXPECT_EQ(of.precision + of.recall + of.density + of.coverage, 0);
}

// A collapsed generator: precise, and it recalls nothing.
TEST(Neighbours, OfOneSampleRepeatedHaveNoRecall) {
  numerics::Cpu cpu;
  const Features x = normals(1);
  Features collapsed = x;
  for (std::size_t i = 0; i < collapsed.values.size(); ++i)
    collapsed.values[i] = x.values[i % kWidth];
  const Neighbourhoods of = neighbourhoods(x, collapsed, cpu);
  EXPECT_EQ(of.precision, 1);
  EXPECT_LT(of.recall, 0.01);
  EXPECT_LT(of.coverage, 0.1);
}

TEST(Neighbours, OfHalfTheClassesHaveHalfTheRecallAndCoverage) {
  numerics::Cpu cpu;
  const Features data = clusters(1, 6);
  const Neighbourhoods all = neighbourhoods(data, clusters(2, 6), cpu),
                       half = neighbourhoods(data, clusters(3, 3), cpu);
  EXPECT_GT(all.recall, 0.5);
  EXPECT_LE(half.recall, 0.5);
  EXPECT_LE(half.coverage, 0.5);
  EXPECT_GT(all.coverage, 0.8);
  EXPECT_GT(half.precision, 0.5);
}

// A sample at the radius is inside: of points on a line all radii are distances between them.
TEST(Neighbours, AtTheRadiusAreInside) {
  numerics::Cpu cpu;
  const Features x{1, {0, 1, 2, 3, 4, 5}};
  const auto with = [&](float last) {
    return neighbourhoods(x, {1, {last, 1000, 2000, 3000, 4000, 5000}}, cpu);
  };
  // The balls of 0 and of 5 have radius 3 for precision and 5 for density.
  EXPECT_EQ(with(-3).precision, 1.0 / 6);
  EXPECT_EQ(with(std::nextafter(-3.0F, -4.0F)).precision, 0);
  EXPECT_EQ(with(-5).coverage, 1.0 / 6);
  EXPECT_EQ(with(std::nextafter(-5.0F, -6.0F)).coverage, 0);
  EXPECT_EQ(with(8).recall, 1);  // the others are far, so that the ball of 8 is large
  EXPECT_EQ(with(8).precision, 1.0 / 6);
  EXPECT_EQ(with(std::nextafter(8.0F, 9.0F)).precision, 0);
  EXPECT_EQ(with(10).coverage, 1.0 / 6);
  EXPECT_EQ(with(10).density, 1.0 / 5 / 6);
  EXPECT_EQ(with(std::nextafter(10.0F, 11.0F)).coverage, 0);
}

TEST(Distances, HaveTheSameBitsByAnyNumberOfThreads) {
  const Features x = normals(1), y = normals(2, 1.1F, 0.1F, kCount + 13);
  numerics::Cpu one(1);
  const double kernel = kernel_distance(x, y, one);
  const Neighbourhoods around = neighbourhoods(x, y, one);
  for (const int threads : {2, 3, 7}) {
    numerics::Cpu many(threads);
    EXPECT_EQ(kernel_distance(x, y, many), kernel) << threads;
    const Neighbourhoods other = neighbourhoods(x, y, many);
    EXPECT_EQ(other.precision, around.precision);
    EXPECT_EQ(other.recall, around.recall);
    EXPECT_EQ(other.density, around.density);
    EXPECT_EQ(other.coverage, around.coverage);
  }
}

}  // namespace
}  // namespace lockstep::evaluation
