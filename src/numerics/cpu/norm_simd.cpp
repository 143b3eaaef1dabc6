// Group and batch normalisation: SIMD over channels.
#include "numerics/cpu/isa_tables.h"
#include "numerics/cpu/norm_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/cpu/norm_simd.cpp"
#include "numerics/cpu/simd.h"
// After simd.h, which chooses the targets:
#include "numerics/cpu/columns-inl.h"
#include "numerics/cpu/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
namespace {

struct ColumnSquares {
  static constexpr int kSums = 1;
  const float* x;
  const float* mean;
  std::int64_t x_row;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j,
                             V (&acc)[1]) const {
    const V d = hn::Sub(access.load(x + i * x_row + j), access.load(mean + j));
    acc[0] = hn::MulAdd(d, d, acc[0]);
  }
};
void column_squares(std::int64_t rows, std::int64_t width, std::int64_t x_row, const float* x,
                    const float* mean, float* out) {
  column_chains(rows, width, ColumnSquares{x, mean, x_row}, {out});
}

// A vector of xhat, for the columns from j on of the element at `at`.
struct Normalized {
  const float* x;
  const float* mean;
  const float* rstd;
  template <class Access>
  HWY_INLINE V operator()(const Access& access, std::int64_t at, std::int64_t j) const {
    return hn::Mul(hn::Sub(access.load(x + at), access.load(mean + j)), access.load(rstd + j));
  }
};

struct ColumnGradientSums {
  static constexpr int kSums = 2;
  Normalized xhat;
  std::int64_t x_row;
  const float* g;
  std::int64_t g_row;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j,
                             V (&acc)[2]) const {
    const V gradient = access.load(g + i * g_row + j);
    acc[0] = hn::Add(acc[0], gradient);
    acc[1] = hn::MulAdd(gradient, xhat(access, i * x_row + j, j), acc[1]);
  }
};
void column_gradient_sums(std::int64_t rows, std::int64_t width, std::int64_t x_row, const float* x,
                          const float* mean, const float* rstd, std::int64_t g_row, const float* g,
                          float* sum_g, float* sum_g_xhat) {
  column_chains(rows, width, ColumnGradientSums{{x, mean, rstd}, x_row, g, g_row},
                {sum_g, sum_g_xhat});
}

template <Activation kActivation>
struct Normalize {
  Normalized xhat;
  std::int64_t c;
  const float* gamma;
  const float* beta;
  std::int64_t y_row;
  float* y;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    V z = hn::MulAdd(xhat(access, i * c + j, j), access.load(gamma + j), access.load(beta + j));
    if constexpr (kActivation == Activation::kSilu) z = Silu(F(), z);
    access.store(z, y + i * y_row + j);
  }
};
void normalize(Activation activation, std::int64_t rows, std::int64_t c, const float* x,
               const float* mean, const float* rstd, const float* gamma, const float* beta,
               std::int64_t y_row, float* y) {
  const Normalized xhat{x, mean, rstd};
  if (activation == Activation::kSilu) {
    for_each_vector(rows, c, Normalize<Activation::kSilu>{xhat, c, gamma, beta, y_row, y});
  } else {
    for_each_vector(rows, c, Normalize<Activation::kNone>{xhat, c, gamma, beta, y_row, y});
  }
}

struct ThroughSilu {
  Normalized xhat;
  std::int64_t c;
  const float* gamma;
  const float* beta;
  std::int64_t dy_row;
  const float* dy;
  float* g;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = i * c + j;
    const V z = hn::MulAdd(xhat(access, at, j), access.load(gamma + j), access.load(beta + j));
    access.store(hn::Mul(access.load(dy + i * dy_row + j), SiluDerivative(F(), z)), g + at);
  }
};
void through_silu(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                  const float* rstd, const float* gamma, const float* beta, std::int64_t dy_row,
                  const float* dy, float* g) {
  for_each_vector(rows, c, ThroughSilu{{x, mean, rstd}, c, gamma, beta, dy_row, dy, g});
}

struct GroupInputGradient {
  Normalized xhat;
  std::int64_t c;
  const float* gamma;
  const float* m;
  const float* q;
  std::int64_t g_row;
  const float* g;
  float* dx;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = i * c + j;
    const V h = hn::Mul(access.load(g + i * g_row + j), access.load(gamma + j));
    const V projection = hn::MulAdd(xhat(access, at, j), access.load(q + j), access.load(m + j));
    access.store(hn::Mul(hn::Sub(h, projection), access.load(xhat.rstd + j)), dx + at);
  }
};
void group_input_gradient(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                          const float* rstd, const float* gamma, const float* m, const float* q,
                          std::int64_t g_row, const float* g, float* dx) {
  for_each_vector(rows, c, GroupInputGradient{{x, mean, rstd}, c, gamma, m, q, g_row, g, dx});
}

struct BatchInputGradient {
  Normalized xhat;
  std::int64_t c;
  const float* gamma;
  const float* m;
  const float* q;
  const float* g;
  float* dx;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = i * c + j;
    const V k = hn::Mul(access.load(gamma + j), access.load(xhat.rstd + j));
    const V projection = hn::MulAdd(xhat(access, at, j), access.load(q + j), access.load(m + j));
    access.store(hn::Mul(k, hn::Sub(access.load(g + at), projection)), dx + at);
  }
};
void batch_input_gradient(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                          const float* rstd, const float* gamma, const float* m, const float* q,
                          const float* g, float* dx) {
  for_each_vector(rows, c, BatchInputGradient{{x, mean, rstd}, c, gamma, m, q, g, dx});
}

}  // namespace

extern const NormKernels kNorm;
constexpr NormKernels kNorm = {column_squares, column_gradient_sums, normalize,
                               through_silu,   group_input_gradient, batch_input_gradient};

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

LOCKSTEP_KERNELS(NormKernels, norm_kernels, kNorm, kNormScalar)
