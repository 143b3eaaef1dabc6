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

// kBlocks blocks of the chains of kVectors vectors of columns, from row `begin` and from `column`
// on, side by side to hide the latency of the additions; the last block has `last` rows. Their sums
// are added to `total` in order; those of the first block of all begin it.
template <int kVectors, int kBlocks, class Step, class Access>
HWY_INLINE void column_blocks(std::int64_t begin, std::int64_t last, std::int64_t column,
                              const Access& access, const Step& step,
                              V (&total)[kVectors][Step::kSums]) {
  constexpr int kSums = Step::kSums;
  V acc[kBlocks][kVectors][kSums];
#pragma GCC unroll 8
  for (int b = 0; b < kBlocks; ++b) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 2
      for (int s = 0; s < kSums; ++s) acc[b][v][s] = hn::Zero(F());
    }
  }
  for (std::int64_t i = begin; i < begin + last; ++i) {
#pragma GCC unroll 8
    for (int b = 0; b < kBlocks; ++b) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        step(access, i + b * kBlock, column + v * kLanes, acc[b][v]);
      }
    }
  }
  if constexpr (kBlocks > 1) {
    for (std::int64_t i = begin + last; i < begin + kBlock; ++i) {
#pragma GCC unroll 8
      for (int b = 0; b < kBlocks - 1; ++b) {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
          step(access, i + b * kBlock, column + v * kLanes, acc[b][v]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int b = 0; b < kBlocks; ++b) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 2
      for (int s = 0; s < kSums; ++s) {
        total[v][s] = begin == 0 && b == 0 ? acc[b][v][s] : hn::Add(total[v][s], acc[b][v][s]);
      }
    }
  }
}

// As many of the blocks from row `begin` on as go side by side, kBlocks at most; the row after
// them.
template <int kVectors, int kBlocks, class Step, class Access>
HWY_INLINE std::int64_t next_column_blocks(std::int64_t begin, std::int64_t rows,
                                           std::int64_t column, const Access& access,
                                           const Step& step, V (&total)[kVectors][Step::kSums]) {
  if constexpr (kBlocks > 1) {
    if (rows - begin <= (kBlocks - 1) * kBlock) {
      return next_column_blocks<kVectors, kBlocks / 2>(begin, rows, column, access, step, total);
    }
  }
  const std::int64_t end = begin + kBlocks * kBlock < rows ? begin + kBlocks * kBlock : rows;
  column_blocks<kVectors, kBlocks>(begin, end - begin - (kBlocks - 1) * kBlock, column, access,
                                   step, total);
  return end;
}

// Chains of kVectors vectors of columns from `column` on. Step::kSums chains a column; step(access,
// row, column, acc) folds one row into acc.
template <int kVectors, class Step, class Access>
HWY_INLINE void column_chain_group(std::int64_t rows, std::int64_t column, const Access& access,
                                   const Step& step, float* const (&out)[Step::kSums]) {
  constexpr int kSums = Step::kSums, kBlocks = 8 / kSums / kVectors;
  V total[kVectors][kSums];
  for (int v = 0; v < kVectors; ++v) {
    for (int s = 0; s < kSums; ++s) total[v][s] = hn::Zero(F());
  }
  for (std::int64_t begin = 0; begin < rows;) {
    begin = next_column_blocks<kVectors, kBlocks>(begin, rows, column, access, step, total);
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
  if (j + 4 * kLanes <= width) {
    column_chain_group<4>(rows, j, Whole(), step, out);
    j += 4 * kLanes;
  }
  if (j + 2 * kLanes <= width) {
    column_chain_group<2>(rows, j, Whole(), step, out);
    j += 2 * kLanes;
  }
  for (; j + kLanes <= width; j += kLanes) column_chain_group<1>(rows, j, Whole(), step, out);
  if (j < width) column_chain_group<1>(rows, j, Part(width - j), step, out);
}

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
