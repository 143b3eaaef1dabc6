#include "lockstep/evaluation/symmetric.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep::evaluation {
namespace {

// Of no pattern, in [-1, 1).
double some(std::uint64_t i) {
  const std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15U;
  return static_cast<double>((x ^ x >> 29) >> 11) * 0x1p-52 - 1;
}

Matrix symmetric(std::size_t n) {
  Matrix a(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i; j < n; ++j) a[i * n + j] = a[j * n + i] = some(i * n + j);
  return a;
}

TEST(Eigen, OfADiagonalMatrixAreItsElements) {
  const Eigen of = eigen(3, {3, 0, 0, 0, -1, 0, 0, 0, 0});
  EXPECT_EQ(of.values, (std::vector<double>{3, -1, 0}));
  EXPECT_EQ(of.vectors, (Matrix{1, 0, 0, 0, 1, 0, 0, 0, 1}));
}

TEST(Eigen, OfTwoByTwo) {
  Eigen of = eigen(2, {2, 1, 1, 2});
  std::ranges::sort(of.values);
  EXPECT_NEAR(of.values[0], 1, 1e-15);
  EXPECT_NEAR(of.values[1], 3, 1e-15);
}

TEST(Eigen, GiveTheMatrixAgain) {
  for (const std::size_t n : {1U, 2U, 5U, 40U}) {
    const Matrix a = symmetric(n);
    const Eigen of = eigen(static_cast<std::int64_t>(n), a);
    EXPECT_EQ(eigenvalues(static_cast<std::int64_t>(n), a), of.values);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double again = 0, dot = 0;
        for (std::size_t k = 0; k < n; ++k) {
          again += of.vectors[i * n + k] * of.values[k] * of.vectors[j * n + k];
          dot += of.vectors[k * n + i] * of.vectors[k * n + j];
        }
        EXPECT_NEAR(again, a[i * n + j], 1e-13 * static_cast<double>(n));
        EXPECT_NEAR(dot, i == j ? 1 : 0, 1e-14 * static_cast<double>(n));
      }
    }
  }
}

// Of rank one: all but one eigenvalue are 0.
TEST(Eigen, OfASingularMatrix) {
  const std::size_t n = 12;
  Matrix a(n * n);
  double square = 0;
  for (std::size_t i = 0; i < n; ++i) {
    square += some(i) * some(i);
    for (std::size_t j = 0; j < n; ++j) a[i * n + j] = some(i) * some(j);
  }
  std::vector<double> values = eigen(n, a).values;
  std::ranges::sort(values);
  EXPECT_NEAR(values.back(), square, 1e-13);
  for (std::size_t i = 0; i + 1 < n; ++i) EXPECT_NEAR(values[i], 0, 1e-13);
}

TEST(Eigen, OfNoNumbersAreRefused) {
  const double nan = std::nan("");
  EXPECT_THROW(eigen(2, {1, nan, nan, 1}), Error);
}

}  // namespace
}  // namespace lockstep::evaluation
