// Softmax: sums with SIMD over rows, the rest over columns.
#include "numerics/cpu/isa_tables.h"
#include "numerics/cpu/softmax_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/cpu/softmax_simd.cpp"
#include "numerics/cpu/simd.h"
// After simd.h, which chooses the targets:
#include "numerics/cpu/functions-inl.h"
#include "numerics/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
namespace {

// A maximum has no order; a NaN in the row makes every result NaN whatever is found here.
HWY_INLINE float row_max(std::int64_t cols, float scale, const float* x) {
  const V factor = hn::Set(F(), scale);
  const V lowest = hn::Set(F(), -__builtin_inff());
  const std::int64_t whole = cols - cols % kLanes;
  V max = lowest;
  for (std::int64_t j = 0; j < whole; j += kLanes) {
    max = hn::Max(hn::Mul(factor, hn::LoadU(F(), x + j)), max);
  }
  if (whole < cols) {
    const Part part(cols - whole);
    const V last = hn::Mul(factor, part.load(x + whole));
    max = hn::Max(hn::IfThenElse(part.mask, last, lowest), max);
  }
  return hn::GetLane(hn::MaxOfLanes(F(), max));
}

struct Exponentials {
  std::int64_t cols;
  float scale;
  const float* x;
  const float* max;
  float* e;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    const V scaled = hn::Mul(hn::Set(F(), scale), access.load(x + i * cols + j));
    access.store(Exp(F(), hn::Sub(scaled, hn::Set(F(), max[i]))), e + i * cols + j);
  }
};

struct Quotients {
  std::int64_t cols;
  const float* sum;
  float* y;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    float* const at = y + i * cols + j;
    access.store(hn::Div(access.load(at), hn::Set(F(), sum[i])), at);
  }
};

void forward(std::int64_t rows, std::int64_t cols, float scale, const float* x, float* y,
             float* scratch) {
  for (std::int64_t i = 0; i < rows; ++i) scratch[i] = row_max(cols, scale, x + i * cols);
  for_each_vector(rows, cols, Exponentials{cols, scale, x, scratch, y});
  row_chains<SumTerm>(rows, cols, {y}, scratch);
  for_each_vector(rows, cols, Quotients{cols, scratch, y});
}

struct Gradient {
  std::int64_t cols;
  float scale;
  const float* y;
  const float* dy;
  const float* dot;
  float* dx;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = i * cols + j;
    const V difference = hn::Sub(access.load(dy + at), hn::Set(F(), dot[i]));
    const V product = hn::Mul(access.load(y + at), difference);
    access.store(hn::Mul(hn::Set(F(), scale), product), dx + at);
  }
};

void backward(std::int64_t rows, std::int64_t cols, float scale, const float* y, const float* dy,
              float* dx, float* scratch) {
  row_chains<DotTerm>(rows, cols, {y, dy}, scratch);
  for_each_vector(rows, cols, Gradient{cols, scale, y, dy, scratch, dx});
}

}  // namespace

extern const SoftmaxKernels kSoftmax;
constexpr SoftmaxKernels kSoftmax = {forward, backward};

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

LOCKSTEP_KERNELS(SoftmaxKernels, softmax_kernels, kSoftmax, kSoftmaxScalar)
