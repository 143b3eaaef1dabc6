#include "lockstep/evaluation/symmetric.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::evaluation {
namespace {

constexpr int kMostSweeps = 64;  // a dozen are usual

double size_of(double x) {
  return x < 0 ? -x : x;
}

// Both triangles are kept up, and the vectors lie in rows: rotations go along rows.
class Jacobi {
 public:
  Jacobi(std::int64_t n, Matrix matrix, bool with_vectors)
      : n_(static_cast<std::size_t>(n)), a_(std::move(matrix)), v_(with_vectors ? n_ * n_ : 0) {
    if (!with_vectors) return;
    for (std::size_t i = 0; i < n_; ++i) v_[i * n_ + i] = 1;
  }

  void run() {
    for (int sweep = 0; sweep < kMostSweeps; ++sweep)
      if (!this->sweep()) return;
    throw Error(Code::kBug, "a matrix of " + std::to_string(n_) + " rows does not become diagonal");
  }

  std::vector<double> values() const {
    std::vector<double> diagonal;
    for (std::size_t i = 0; i < n_; ++i) diagonal.push_back(a_[i * n_ + i]);
    return diagonal;
  }
  Matrix vectors() const {
    Matrix columns(n_ * n_);
    for (std::size_t k = 0; k < n_; ++k)
      for (std::size_t i = 0; i < n_; ++i) columns[i * n_ + k] = v_[k * n_ + i];
    return columns;
  }

 private:
  // Whether anything was rotated.
  bool sweep() {
    bool rotated = false;
    for (std::size_t p = 0; p + 1 < n_; ++p) {
      for (std::size_t q = p + 1; q < n_; ++q) {
        const double x = size_of(a_[p * n_ + p]), y = size_of(a_[q * n_ + q]),
                     off = size_of(a_[p * n_ + q]);
        if (x + off == x && y + off == y) {
          a_[p * n_ + q] = a_[q * n_ + p] = 0;
          continue;
        }
        rotate(p, q);
        rotated = true;
      }
    }
    return rotated;
  }

  // Makes element (p, q) zero.
  void rotate(std::size_t p, std::size_t q) {
    const double off = a_[p * n_ + q];
    const double theta = (a_[q * n_ + q] - a_[p * n_ + p]) / (2 * off);
    double t = 1 / (size_of(theta) + numerics::host::sqrt(theta * theta + 1));
    if (theta < 0) t = -t;
    const double c = 1 / numerics::host::sqrt(t * t + 1), s = t * c, tau = s / (1 + c);
    const double at_p = a_[p * n_ + p] - t * off, at_q = a_[q * n_ + q] + t * off;
    turn(a_, p, q, s, tau);
    a_[p * n_ + p] = at_p;
    a_[q * n_ + q] = at_q;
    a_[p * n_ + q] = a_[q * n_ + p] = 0;
    for (std::size_t r = 0; r < n_; ++r) {
      a_[r * n_ + p] = a_[p * n_ + r];
      a_[r * n_ + q] = a_[q * n_ + r];
    }
    if (!v_.empty()) turn(v_, p, q, s, tau);
  }

  void turn(Matrix& of, std::size_t p, std::size_t q, double s, double tau) const {
    double* const g = of.data() + p * n_;
    double* const h = of.data() + q * n_;
    for (std::size_t r = 0; r < n_; ++r) {
      const double before_g = g[r], before_h = h[r];
      g[r] = before_g - s * (before_h + before_g * tau);
      h[r] = before_h + s * (before_g - before_h * tau);
    }
  }

  std::size_t n_;
  Matrix a_, v_;
};

Jacobi run(std::int64_t n, Matrix matrix, bool with_vectors) {
  LOCKSTEP_ASSERT(n >= 1 && matrix.size() == static_cast<std::size_t>(n * n), std::to_string(n));
  Jacobi jacobi(n, std::move(matrix), with_vectors);
  jacobi.run();
  return jacobi;
}

}  // namespace

Eigen eigen(std::int64_t n, Matrix matrix) {
  const Jacobi jacobi = run(n, std::move(matrix), true);
  return {jacobi.values(), jacobi.vectors()};
}

std::vector<double> eigenvalues(std::int64_t n, Matrix matrix) {
  return run(n, std::move(matrix), false).values();
}

}  // namespace lockstep::evaluation
