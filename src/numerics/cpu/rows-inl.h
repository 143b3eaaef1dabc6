// Highway: sums along rows with SIMD over the rows. A lane of a vector is a row (or a block of
// one), so the order of every sum is the scalar one; 4 columns at a time are transposed in
// registers.
#if defined(LOCKSTEP_NUMERICS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LOCKSTEP_NUMERICS_ROWS_INL_H_
#undef LOCKSTEP_NUMERICS_ROWS_INL_H_
#else
#define LOCKSTEP_NUMERICS_ROWS_INL_H_
#endif

#include "numerics/cpu/columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::numerics::HWY_NAMESPACE {

// p[0], p[4], p[8]… supply the 128-bit blocks of one vector.
template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* const* p, std::int64_t column) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, p[0] + column);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, p + hn::MaxLanes(half), column),
                       load_blocks(half, p, column));
  }
}

// out[k] = column `column + k` of the kLanes rows.
HWY_INLINE void load_transposed(const float* const* rows, std::int64_t column, V (&out)[4]) {
  const F d;
  const V r0 = load_blocks(d, rows, column);
  const V r1 = load_blocks(d, rows + 1, column);
  const V r2 = load_blocks(d, rows + 2, column);
  const V r3 = load_blocks(d, rows + 3, column);
  const V low02 = hn::InterleaveLower(d, r0, r2);
  const V low13 = hn::InterleaveLower(d, r1, r3);
  const V high02 = hn::InterleaveUpper(d, r0, r2);
  const V high13 = hn::InterleaveUpper(d, r1, r3);
  out[0] = hn::InterleaveLower(d, low02, low13);
  out[1] = hn::InterleaveUpper(d, low02, low13);
  out[2] = hn::InterleaveLower(d, high02, high13);
  out[3] = hn::InterleaveUpper(d, high02, high13);
}

// What a row's chain folds in: fold(acc, values of the operands in one column).
struct SumTerm {
  static constexpr int kOperands = 1;
  HWY_INLINE V operator()(V acc, const V (&x)[1]) const { return hn::Add(acc, x[0]); }
};
struct SquareTerm {
  static constexpr int kOperands = 1;
  HWY_INLINE V operator()(V acc, const V (&x)[1]) const { return hn::MulAdd(x[0], x[0], acc); }
};
struct DotTerm {
  static constexpr int kOperands = 2;
  HWY_INLINE V operator()(V acc, const V (&x)[2]) const { return hn::MulAdd(x[0], x[1], acc); }
};
struct SquaredDistanceTerm {
  static constexpr int kOperands = 2;
  HWY_INLINE V operator()(V acc, const V (&x)[2]) const {
    const V difference = hn::Sub(x[0], x[1]);
    return hn::MulAdd(difference, difference, acc);
  }
};

// kGroups * kLanes chains of `length` <= kBlock elements side by side; segment[o][l] is where
// operand o of chain l starts.
template <int kGroups, class Term>
HWY_INLINE void segment_chains(const float* const (*segment)[kGroups * kLanes], std::int64_t length,
                               float* out) {
  constexpr int kOperands = Term::kOperands;
  const Term term;
  V acc[kGroups];
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) acc[g] = hn::Zero(F());
  std::int64_t j = 0;
  for (; j + 4 <= length; j += 4) {
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      V x[kOperands][4];
#pragma GCC unroll 2
      for (int o = 0; o < kOperands; ++o) load_transposed(segment[o] + g * kLanes, j, x[o]);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        V column[kOperands];
#pragma GCC unroll 2
        for (int o = 0; o < kOperands; ++o) column[o] = x[o][k];
        acc[g] = term(acc[g], column);
      }
    }
  }
  for (; j < length; ++j) {
    HWY_ALIGN float gathered[kOperands][kLanes];
    for (int g = 0; g < kGroups; ++g) {
      V column[kOperands];
      for (int o = 0; o < kOperands; ++o) {
        for (int l = 0; l < kLanes; ++l) gathered[o][l] = segment[o][g * kLanes + l][j];
        column[o] = hn::Load(F(), gathered[o]);
      }
      acc[g] = term(acc[g], column);
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) hn::StoreU(acc[g], F(), out + g * kLanes);
}

// `count` segments of `length`: number s is block s % blocks of row s / blocks. Their sums are
// added to their rows in order; a row's block 0 replaces what is there if `first`.
template <int kGroups, class Term>
HWY_INLINE void add_segments(std::int64_t count, std::int64_t blocks, std::int64_t cols,
                             std::int64_t offset, std::int64_t length,
                             const float* const (&operand)[Term::kOperands], bool first,
                             std::int64_t& s, float* out) {
  constexpr std::int64_t kSegments = kGroups * kLanes;
  // The last batch may be incomplete: the missing chains repeat its last one.
  const std::int64_t least = kGroups == 1 ? 1 : kSegments;
  for (; count - s >= least; s += kSegments) {
    const float* segment[Term::kOperands][kSegments];
    HWY_ALIGN float sums[kSegments];
    for (std::int64_t l = 0; l < kSegments; ++l) {
      const std::int64_t at = s + l < count ? s + l : count - 1;
      const std::int64_t start = at / blocks * cols + at % blocks * kBlock + offset;
      for (int o = 0; o < Term::kOperands; ++o) segment[o][l] = operand[o] + start;
    }
    segment_chains<kGroups, Term>(segment, length, sums);
    for (std::int64_t l = 0; l < kSegments && s + l < count; ++l) {
      const std::int64_t row = (s + l) / blocks;
      out[row] = first && (s + l) % blocks == 0 ? sums[l] : out[row] + sums[l];
    }
  }
}

// The blocked chain along every row of [rows][cols].
template <class Term>
HWY_INLINE void row_chains(std::int64_t rows, std::int64_t cols,
                           const float* const (&operand)[Term::kOperands], float* out) {
  if (cols == 0) {
    for (std::int64_t i = 0; i < rows; ++i) out[i] = 0.0F;
    return;
  }
  const std::int64_t blocks = cols / kBlock;
  if (blocks > 0) {
    std::int64_t s = 0;
    add_segments<2, Term>(rows * blocks, blocks, cols, 0, kBlock, operand, true, s, out);
    add_segments<1, Term>(rows * blocks, blocks, cols, 0, kBlock, operand, true, s, out);
  }
  if (const std::int64_t rest = cols % kBlock; rest > 0) {
    const std::int64_t offset = cols - rest;
    std::int64_t s = 0;
    add_segments<2, Term>(rows, 1, cols, offset, rest, operand, blocks == 0, s, out);
    add_segments<1, Term>(rows, 1, cols, offset, rest, operand, blocks == 0, s, out);
  }
}

}  // namespace lockstep::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
