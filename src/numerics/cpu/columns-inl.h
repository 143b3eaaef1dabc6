// Highway: walks over [rows][columns] with SIMD over the columns. A lane of a vector is a column,
// so the order of every column's sum is the scalar one.
#if defined(LOCKSTEP_NUMERICS_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_NUMERICS_COLUMNS_INL_H_
#undef LOCKSTEP_NUMERICS_COLUMNS_INL_H_
#else
#define LOCKSTEP_NUMERICS_COLUMNS_INL_H_
#endif

#include "hwy/highway.h"
#include "lockstep/numerics/spec/shapes.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;
inline constexpr std::int64_t kLanes = HWY_LANES(float);

// Access to a whole vector of columns, and to the last, partial one.
struct Whole {
  HWY_INLINE V load(const float* p) const { return hn::LoadU(F(), p); }
  HWY_INLINE void store(V v, float* p) const { hn::StoreU(v, F(), p); }
};
struct Part {
  hn::Mask<F> mask;
  explicit HWY_INLINE Part(std::int64_t count)
      : mask(hn::FirstN(F(), static_cast<size_t>(count))) {}
  HWY_INLINE V load(const float* p) const { return hn::MaskedLoad(mask, F(), p); }
  HWY_INLINE void store(V v, float* p) const { hn::BlendedStore(v, mask, F(), p); }
};

// body(access, row, column) for every element, in memory order.
template <class Body>
HWY_INLINE void for_each_vector(std::int64_t rows, std::int64_t cols, const Body& body) {
  const std::int64_t whole = cols - cols % kLanes;
  const Part part(cols - whole);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < whole; j += kLanes) body(Whole(), i, j);
    if (whole < cols) body(part, i, whole);
  }
}

// Chains of kVectors vectors of columns from `column` on, side by side to hide the latency of the
// additions. Step::kSums chains a column; step(access, row, column, acc) folds one row into acc.
template <int kVectors, class Step, class Access>
HWY_INLINE void column_chain_group(std::int64_t rows, std::int64_t column, const Access& access,
                                   const Step& step, float* const (&out)[Step::kSums]) {
  constexpr int kSums = Step::kSums;
  V total[kVectors][kSums];
  for (int v = 0; v < kVectors; ++v) {
    for (int s = 0; s < kSums; ++s) total[v][s] = hn::Zero(F());
  }
  for (std::int64_t begin = 0; begin < rows; begin += kBlock) {
    const std::int64_t end = begin + kBlock < rows ? begin + kBlock : rows;
    V acc[kVectors][kSums];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 2
      for (int s = 0; s < kSums; ++s) acc[v][s] = hn::Zero(F());
    }
    for (std::int64_t i = begin; i < end; ++i) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) step(access, i, column + v * kLanes, acc[v]);
    }
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 2
      for (int s = 0; s < kSums; ++s) {
        total[v][s] = begin == 0 ? acc[v][s] : hn::Add(total[v][s], acc[v][s]);
      }
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    for (int s = 0; s < kSums; ++s) access.store(total[v][s], out[s] + column + v * kLanes);
  }
}

// The blocked chains of all columns [0, width) over `rows` rows.
template <class Step>
HWY_INLINE void column_chains(std::int64_t rows, std::int64_t width, const Step& step,
                              float* const (&out)[Step::kSums]) {
  constexpr int kWide = 8 / Step::kSums;
  std::int64_t j = 0;
  for (; j + kWide * kLanes <= width; j += kWide * kLanes) {
    column_chain_group<kWide>(rows, j, Whole(), step, out);
  }
  if (j + kWide / 2 * kLanes <= width) {
    column_chain_group<kWide / 2>(rows, j, Whole(), step, out);
    j += kWide / 2 * kLanes;
  }
  for (; j + kLanes <= width; j += kLanes) column_chain_group<1>(rows, j, Whole(), step, out);
  if (j < width) column_chain_group<1>(rows, j, Part(width - j), step, out);
}

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
