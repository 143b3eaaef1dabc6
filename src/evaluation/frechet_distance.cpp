#include "lockstep/core/error.h"
#include "lockstep/evaluation/distances.h"
#include "lockstep/evaluation/symmetric.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/numerics/spec/tree.h"

namespace lockstep::evaluation {
namespace {

using Values = std::vector<double>;

// The tree sum of leaf(i), i = 0 … count - 1, element by element.
template <class Leaf>
Values sum_of(std::int64_t count, const Leaf& leaf) {
  return numerics::tree_fold(0, count, leaf, [](Values a, const Values& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
  });
}

struct Moments {
  Values mean;        // [width]
  Matrix covariance;  // [width][width]
};

Moments moments_of(const Features& features) {
  const std::int64_t count = features.count();
  const auto width = static_cast<std::size_t>(features.width);
  const auto row = [&](std::int64_t i) {
    return features.values.begin() + static_cast<std::ptrdiff_t>(i * features.width);
  };
  Moments of{sum_of(count, [&](std::int64_t i) { return Values(row(i), row(i) + features.width); }),
             Matrix(width * width)};
  for (double& m : of.mean) m /= static_cast<double>(count);
  // The upper triangle, row after row.
  const Values products = sum_of(count, [&](std::int64_t i) {
    Values d(row(i), row(i) + features.width), upper;
    for (std::size_t a = 0; a < width; ++a) d[a] -= of.mean[a];
    upper.reserve(width * (width + 1) / 2);
    for (std::size_t a = 0; a < width; ++a)
      for (std::size_t b = a; b < width; ++b) upper.push_back(d[a] * d[b]);
    return upper;
  });
  std::size_t at = 0;
  for (std::size_t a = 0; a < width; ++a)
    for (std::size_t b = a; b < width; ++b)
      of.covariance[a * width + b] = of.covariance[b * width + a] =
          products[at++] / static_cast<double>(count - 1);
  return of;
}

// Of a value that is a square but for rounding.
double root(double x) {
  return x > 0 ? numerics::host::sqrt(x) : 0.0;
}

// Sums over k in order, of x[i][k] * y[k][j].
Matrix product(std::size_t n, const Matrix& x, const Matrix& y) {
  Matrix out(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t j = 0; j < n; ++j) out[i * n + j] += x[i * n + k] * y[k * n + j];
  return out;
}

// V sqrt(D) V^T of the eigenvalues D and eigenvectors V.
Matrix square_root(std::size_t n, const Matrix& matrix) {
  const Eigen of = eigen(static_cast<std::int64_t>(n), matrix);
  Matrix scaled(n * n), transposed(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      scaled[i * n + k] = of.vectors[i * n + k] * root(of.values[k]);
      transposed[k * n + i] = of.vectors[i * n + k];
    }
  }
  return product(n, scaled, transposed);
}

// tr (C D)^(1/2): the eigenvalues of C D are those of C^(1/2) D C^(1/2), which is symmetric.
double trace_of_root(std::size_t n, const Matrix& c, const Matrix& d) {
  const Matrix s = square_root(n, c), m = product(n, product(n, s, d), s);
  Matrix symmetric(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) symmetric[i * n + j] = 0.5 * (m[i * n + j] + m[j * n + i]);
  double trace = 0;
  for (const double value : eigenvalues(static_cast<std::int64_t>(n), symmetric))
    trace += root(value);
  return trace;
}

}  // namespace

double frechet_distance(const Features& real, const Features& generated) {
  LOCKSTEP_ASSERT(real.width == generated.width && real.count() > real.width &&
                  generated.count() > generated.width);
  const auto n = static_cast<std::size_t>(real.width);
  const Moments a = moments_of(real), b = moments_of(generated);
  double between = 0, trace = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double d = a.mean[i] - b.mean[i];
    between += d * d;
    trace += a.covariance[i * n + i] + b.covariance[i * n + i];
  }
  return between + (trace - 2 * trace_of_root(n, a.covariance, b.covariance));
}

}  // namespace lockstep::evaluation
