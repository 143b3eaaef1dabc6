// Layer normalisation: sums with SIMD over rows, the rest over columns.
#include "numerics/cpu/isa_tables.h"
#include "numerics/cpu/layer_norm_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/cpu/layer_norm_simd.cpp"
#include "numerics/cpu/simd.h"
// After simd.h, which chooses the targets:
#include "numerics/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
namespace {

struct SubtractMean {
  std::int64_t c;
  const float* x;
  const float* mean;
  float* y;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    const V row_mean = hn::Set(F(), mean[i]);
    access.store(hn::Sub(access.load(x + i * c + j), row_mean), y + i * c + j);
  }
};

template <bool kAffine>
struct Scale {
  std::int64_t c;
  const float* rstd;
  const float* gamma;
  const float* beta;
  float* y;  // deviations in, y out
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    float* const at = y + i * c + j;
    V v = hn::Mul(access.load(at), hn::Set(F(), rstd[i]));
    if constexpr (kAffine) v = hn::MulAdd(v, access.load(gamma + j), access.load(beta + j));
    access.store(v, at);
  }
};

void forward(std::int64_t rows, std::int64_t c, float eps, const float* x, const float* gamma,
             const float* beta, float* y, float* mean, float* rstd) {
  const auto count = static_cast<float>(c);
  row_chains<SumTerm>(rows, c, {x}, mean);
  for (std::int64_t i = 0; i < rows; ++i) mean[i] = mean[i] / count;
  for_each_vector(rows, c, SubtractMean{c, x, mean, y});
  row_chains<SquareTerm>(rows, c, {y}, rstd);
  for (std::int64_t i = 0; i < rows; ++i) {
    rstd[i] = 1.0F / __builtin_sqrtf(rstd[i] / count + eps);
  }
  if (gamma == nullptr) {
    for_each_vector(rows, c, Scale<false>{c, rstd, gamma, beta, y});
  } else {
    for_each_vector(rows, c, Scale<true>{c, rstd, gamma, beta, y});
  }
}

template <bool kAffine>
struct GradientTerms {
  std::int64_t c;
  const float* x;
  const float* gamma;
  const float* mean;
  const float* rstd;
  const float* dy;
  float* h;
  float* xhat;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = i * c + j;
    const V deviation = hn::Sub(access.load(x + at), hn::Set(F(), mean[i]));
    access.store(hn::Mul(deviation, hn::Set(F(), rstd[i])), xhat + at);
    V g = access.load(dy + at);
    if constexpr (kAffine) g = hn::Mul(g, access.load(gamma + j));
    access.store(g, h + at);
  }
};

struct InputGradient {
  std::int64_t c;
  const float* xhat;
  const float* rstd;
  const float* m;
  const float* q;
  float* dx;  // h in, dx out
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = i * c + j;
    const V projection = hn::MulAdd(access.load(xhat + at), hn::Set(F(), q[i]), hn::Set(F(), m[i]));
    const V difference = hn::Sub(access.load(dx + at), projection);
    access.store(hn::Mul(difference, hn::Set(F(), rstd[i])), dx + at);
  }
};

void backward(std::int64_t rows, std::int64_t c, const float* x, const float* gamma,
              const float* mean, const float* rstd, const float* dy, float* dx, float* scratch) {
  const auto count = static_cast<float>(c);
  float* const m = scratch;
  float* const q = m + rows;
  float* const xhat = q + rows;
  if (gamma == nullptr) {
    for_each_vector(rows, c, GradientTerms<false>{c, x, gamma, mean, rstd, dy, dx, xhat});
  } else {
    for_each_vector(rows, c, GradientTerms<true>{c, x, gamma, mean, rstd, dy, dx, xhat});
  }
  row_chains<SumTerm>(rows, c, {dx}, m);
  row_chains<DotTerm>(rows, c, {dx, xhat}, q);
  for (std::int64_t i = 0; i < rows; ++i) {
    m[i] = m[i] / count;
    q[i] = q[i] / count;
  }
  for_each_vector(rows, c, InputGradient{c, xhat, rstd, m, q, dx});
}

struct ColumnGradientSums {
  static constexpr int kSums = 2;
  const float* x;
  const float* mean;
  const float* rstd;
  const float* g;
  std::int64_t stride;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j,
                             V (&acc)[2]) const {
    const std::int64_t at = i * stride + j;
    const V deviation = hn::Sub(access.load(x + at), hn::Set(F(), mean[i]));
    const V gradient = access.load(g + at);
    acc[0] = hn::Add(acc[0], gradient);
    acc[1] = hn::MulAdd(gradient, hn::Mul(deviation, hn::Set(F(), rstd[i])), acc[1]);
  }
};
void column_gradient_sums(std::int64_t rows, std::int64_t width, std::int64_t stride,
                          const float* x, const float* mean, const float* rstd, const float* g,
                          float* sum_g, float* sum_g_xhat) {
  column_chains(rows, width, ColumnGradientSums{x, mean, rstd, g, stride}, {sum_g, sum_g_xhat});
}

}  // namespace

extern const LayerNormKernels kLayerNorm;
constexpr LayerNormKernels kLayerNorm = {forward, backward, column_gradient_sums};

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

LOCKSTEP_KERNELS(LayerNormKernels, layer_norm_kernels, kLayerNorm, kLayerNormScalar)
