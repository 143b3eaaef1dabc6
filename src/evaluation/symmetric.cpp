#include "lockstep/evaluation/symmetric.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::evaluation {
namespace {

constexpr int kMostSweeps = 64;  // a dozen are usual

double size_of(double x) {
  return x < 0 ? -x : x;
}

class Jacobi {
 public:
  Jacobi(std::int64_t n, Matrix matrix)
      : n_(static_cast<std::size_t>(n)), a_(std::move(matrix)), v_(n_ * n_) {
    for (std::size_t i = 0; i < n_; ++i) v_[i * n_ + i] = 1;
  }

  Eigen run() {
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      if (this->sweep()) continue;
      Eigen found{{}, std::move(v_)};
      for (std::size_t i = 0; i < n_; ++i) found.values.push_back(a_[i * n_ + i]);
      return found;
    }
    throw Error(Code::kBug, "a matrix of " + std::to_string(n_) + " rows does not become diagonal");
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
          a_[p * n_ + q] = 0;
          continue;
        }
        rotate(p, q);
        rotated = true;
      }
    }
    return rotated;
  }

  // Makes element (p, q) zero. Only the upper triangle is kept up.
  void rotate(std::size_t p, std::size_t q) {
    const double off = a_[p * n_ + q];
    const double theta = (a_[q * n_ + q] - a_[p * n_ + p]) / (2 * off);
    double t = 1 / (size_of(theta) + numerics::host::sqrt(theta * theta + 1));
    if (theta < 0) t = -t;
    const double c = 1 / numerics::host::sqrt(t * t + 1), s = t * c, tau = s / (1 + c);
    a_[p * n_ + p] -= t * off;
    a_[q * n_ + q] += t * off;
    a_[p * n_ + q] = 0;
    const auto turn = [s, tau](double& g, double& h) {
      const double before = g;
      g = before - s * (h + before * tau);
      h = h + s * (before - h * tau);
    };
    for (std::size_t r = 0; r < n_; ++r) {
      if (r != p && r != q) turn(upper(r, p), upper(r, q));
      turn(v_[r * n_ + p], v_[r * n_ + q]);
    }
  }

  double& upper(std::size_t i, std::size_t j) { return i < j ? a_[i * n_ + j] : a_[j * n_ + i]; }

  std::size_t n_;
  Matrix a_, v_;
};

}  // namespace

Eigen eigen(std::int64_t n, Matrix matrix) {
  LOCKSTEP_ASSERT(n >= 1 && matrix.size() == static_cast<std::size_t>(n * n), std::to_string(n));
  return Jacobi(n, std::move(matrix)).run();
}

}  // namespace lockstep::evaluation
