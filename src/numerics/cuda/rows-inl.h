// Private: kernels of whole rows for CUDA: a block has 32 of them, folds chains over each
// (chains-inl.h) and goes through their elements again with what came out.
#pragma once

#include "numerics/cuda/chains-inl.h"
#include "numerics/cuda/divisor.h"
#include "numerics/cuda/elements.h"

namespace lockstep::numerics::cuda {

// How a kernel of rows is launched.
struct RowsBlock {
  static constexpr int kBlockThreads = 256, kResidentBlocks = 2;
  using Folds = ChainFold<Neighbours::kTerms, Fold::kBoth, kBlockThreads>;

  static Grid grid(std::int64_t rows) {
    return {(rows + kWarp - 1) / kWarp, kBlockThreads, Folds::kSharedBytes + 2 * kWarp * 4};
  }
};

// A block's rows; `cols` divides the numbers of all elements.
template <class Thread>
class RowsOfBlock {
 public:
  LOCKSTEP_DEVICE RowsOfBlock(Thread& t, std::int64_t rows, const Divisor& cols)
      : t_(t),
        rows_(rows),
        cols_(cols.value()),
        by_cols_(cols),
        first_(t.block() * kWarp),
        found_(t.template shared<float>()) {}

  // Chains over each row of term(read(i, row)), of element i of all; then take(row, chain), of sums
  // and products take(row, sum, product), by one thread.
  template <Fold kFold, class Read, class MadeOf, class Take>
  LOCKSTEP_DEVICE void fold(const Read& read, const MadeOf& term, const Take& take) const {
    using Folds = ChainFold<Neighbours::kTerms, kFold, RowsBlock::kBlockThreads>;
    const float total = blocked_sum(cols_, [&](std::int64_t first, std::int64_t end) {
      const float acc = Folds::folded(
          t_, found_ + 2 * kWarp, first_, rows_, first, end,
          [&](std::int64_t k, std::int64_t row) { return read(row * cols_ + k, row); }, term);
      t_.barrier();
      return acc;
    });
    const std::int64_t row = first_ + t_.thread() % kWarp;
    if constexpr (kFold == Fold::kBoth) {
      if (t_.thread() < 2 * kWarp) found_[t_.thread()] = total;
      t_.barrier();
      if (t_.thread() < kWarp && row < rows_) take(row, total, found_[kWarp + t_.thread()]);
    } else {
      if (t_.thread() < kWarp && row < rows_) take(row, total);
    }
    t_.barrier();
  }

  // most(row): the largest of f(i) over a row. Any order finds it, +0 or -0.
  template <class F, class Take>
  LOCKSTEP_DEVICE void largest(const F& f, const Take& take) const {
    for (std::int64_t row = first_ + t_.thread() / kWarp; row < first_ + kWarp;
         row += t_.threads() / kWarp) {
      float most = spec::bit_cast<float>(0xff800000U);  // -infinity
      for (std::int64_t j = t_.thread() % kWarp; row < rows_ && j < cols_; j += kWarp)
        most = larger(f(row * cols_ + j), most);
      for (int lanes = kWarp / 2; lanes > 0; lanes /= 2)
        most = larger(t_.shuffle_down(most, lanes), most);
      if (t_.thread() % kWarp == 0 && row < rows_) take(row, most);
    }
    t_.barrier();
  }

  // write(i, read(i, row)) for each element (elements.h).
  template <class Read, class Write>
  LOCKSTEP_DEVICE void each(const Read& read, const Write& write) const {
    const std::int64_t last = first_ + kWarp < rows_ ? first_ + kWarp : rows_;
    for (std::int64_t i = first_ * cols_ + t_.thread(); i < last * cols_;
         i += kTogether * t_.threads())
      together(
          i, t_.threads(), last * cols_,
          [&](std::int64_t at) { return read(at, by_cols_.quotient(at)); }, write);
  }

 private:
  LOCKSTEP_DEVICE static float larger(float a, float b) { return a > b ? a : b; }

  Thread& t_;
  const std::int64_t rows_, cols_;
  const Divisor by_cols_;
  const std::int64_t first_;
  float* const found_;  // [2][32], and behind it the fold's memory
};

}  // namespace lockstep::numerics::cuda
