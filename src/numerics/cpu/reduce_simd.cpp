// Sums for AVX2, AVX-512 and NEON: SIMD over outputs.
#include "numerics/cpu/isa_tables.h"
#include "numerics/cpu/reduce_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/cpu/reduce_simd.cpp"
#include "numerics/cpu/simd.h"
// After simd.h, which chooses the targets:
#include "numerics/cpu/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
namespace {

void row_sums(std::int64_t rows, std::int64_t cols, const float* x, float* out) {
  row_chains<SumTerm>(rows, cols, {x}, out);
}
void row_squares(std::int64_t rows, std::int64_t cols, const float* x, float* out) {
  row_chains<SquareTerm>(rows, cols, {x}, out);
}
void row_dots(std::int64_t rows, std::int64_t cols, const float* a, const float* b, float* out) {
  row_chains<DotTerm>(rows, cols, {a, b}, out);
}
void row_squared_distances(std::int64_t rows, std::int64_t cols, const float* a, const float* b,
                           float* out) {
  row_chains<SquaredDistanceTerm>(rows, cols, {a, b}, out);
}

struct ColumnSum {
  static constexpr int kSums = 1;
  const float* x;
  std::int64_t stride;
  template <class Access>
  HWY_INLINE void operator()(const Access& access, std::int64_t i, std::int64_t j,
                             V (&acc)[1]) const {
    acc[0] = hn::Add(acc[0], access.load(x + i * stride + j));
  }
};
void column_sums(std::int64_t rows, std::int64_t width, std::int64_t stride, const float* x,
                 float* out) {
  column_chains(rows, width, ColumnSum{x, stride}, {out});
}

}  // namespace

extern const ReduceKernels kReduce;
constexpr ReduceKernels kReduce = {row_sums, row_squares, row_dots, row_squared_distances,
                                   column_sums};

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

LOCKSTEP_KERNELS(ReduceKernels, reduce_kernels, kReduce, kReduceScalar)
