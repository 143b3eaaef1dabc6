// Private: how rows of an operand (integer_operands-inl.h) come from memory to shared memory: from
// int16 to slices of int8. They are sliced there and not in memory before: that would read and
// write the operand once more, and a slice costs less than an instruction a value.
//
// kWide: neighbours in memory stay so in groups of eight, which are aligned to 16 bytes.
#pragma once

#include "numerics/cuda/integer_operands-inl.h"
#include "numerics/cuda/integer_slices-inl.h"
#include "numerics/cuda/vector.h"

namespace lockstep::numerics::cuda {

// The 2 * kWords values at `from`, aligned to as many bytes as they have.
template <int kWords>
LOCKSTEP_DEVICE inline void load(const std::int16_t* from, std::uint32_t (&to)[kWords]) {
  const auto words = *reinterpret_cast<const Vector<std::uint32_t, kWords>*>(from);
  LOCKSTEP_UNROLL
  for (int i = 0; i < kWords; ++i) to[i] = words.of[i];
}

LOCKSTEP_DEVICE inline std::uint32_t bits_of(const std::int16_t* value) {
  return value == nullptr ? 0U : static_cast<std::uint16_t>(*value);
}

// A plane of slices each.
struct Planes {
  std::uint32_t* high;
  std::uint32_t* low;

  LOCKSTEP_DEVICE void put(int row, int word, const Slices& slices) const {
    high[word_at(row, word)] = slices.high;
    low[word_at(row, word)] = slices.low;
  }
};

// Stages kRows rows, kDepth of k at a time, with kThreads threads: `fetch` reads the next ones into
// registers, `store` writes them to shared memory. Where values of neighbouring k are neighbours, a
// thread has 8 of them of some rows. Rows that are too many are read as the last one: nobody takes
// their results.
template <class Operand, int kRows, int kThreads, bool kWide, bool kAlongK = Operand::kAlongK>
class Stage {
 public:
  LOCKSTEP_DEVICE Stage(const Operand& operand, int thread, std::int64_t z, std::int64_t first,
                        std::int64_t rows, std::int32_t depth)
      : operand_(operand), thread_(thread), k_(thread % kParts * 8), depth_(depth) {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      const std::int64_t row = first + row_of(u);
      rows_[u] = operand.row(z, row < rows ? row : rows - 1);
    }
    digits_ = operand.radices.of(k_);
  }

  LOCKSTEP_DEVICE void fetch() {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      LOCKSTEP_UNROLL
      for (int i = 0; i < 4; ++i) words_[u][i] = 0;
      if (k_ >= depth_) continue;
      if constexpr (kWide) {
        const std::int16_t* const from = operand_.find(rows_[u], digits_);
        if (from != nullptr) load(from, words_[u]);
      } else {
        DigitsOfK k = digits_;
        LOCKSTEP_UNROLL
        for (int i = 0; i < 8 && k_ + i < depth_; ++i) {
          words_[u][i / 2] |= bits_of(operand_.find(rows_[u], k)) << i % 2 * 16;
          k = operand_.radices.next(k);
        }
      }
    }
    k_ += kDepth;
    digits_ = operand_.radices.next_step(digits_);
  }

  LOCKSTEP_DEVICE void store(const Planes& to) const {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      const int word = thread_ % kParts * 2;
      to.put(row_of(u), word, slices_of(words_[u][0], words_[u][1]));
      to.put(row_of(u), word + 1, slices_of(words_[u][2], words_[u][3]));
    }
  }

 private:
  static constexpr int kParts = kDepth / 8;  // of a row
  static constexpr int kUnits = kRows * kParts / kThreads;
  static_assert(kUnits * kThreads == kRows * kParts && kThreads % kParts == 0);

  LOCKSTEP_DEVICE int row_of(int unit) const { return (thread_ + unit * kThreads) / kParts; }

  const Operand& operand_;
  int thread_;
  std::int32_t k_, depth_;
  DigitsOfK digits_;
  typename Operand::Row rows_[kUnits];
  std::uint32_t words_[kUnits][4];
};

// Lanes that store a word of one of 4 rows each, as the class below lets them.
constexpr bool stores_meet_a_bank_twice_at_most() {
  for (int row = 0; row < 4; ++row) {
    int meetings[32] = {};
    for (int lane = 0; lane < kWarp; ++lane) {
      if (++meetings[word_at(lane % 8 * 4 + row, lane / 8 % 4) % 32] > 2) return false;
    }
  }
  return true;
}
static_assert(stores_meet_a_bank_twice_at_most());

// Where values of neighbouring rows are neighbours, a thread has 4 rows at 4 of k, and turns them.
// Of a warp 8 lanes have neighbouring rows, 4 have neighbouring k: whole sectors of memory are
// read, and at most two lanes meet in a bank of shared memory.
template <class Operand, int kRows, int kThreads, bool kWide>
class Stage<Operand, kRows, kThreads, kWide, false> {
 public:
  LOCKSTEP_DEVICE Stage(const Operand& operand, int thread, std::int64_t z, std::int64_t first,
                        std::int64_t rows, std::int32_t depth)
      : operand_(operand),
        row_(thread % 8 * 4 + thread / kWarp % kGroups * 32),
        word_(thread / 8 % 4 + thread / kWarp / kGroups * 4),
        k_(word_ * 4),
        depth_(depth) {
    LOCKSTEP_UNROLL
    for (int r = 0; r < kFound; ++r) {
      const std::int64_t row = first + row_ + r;
      rows_[r] = operand.row(z, row < rows ? row : rows - 4 / kFound);
    }
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) digits_[u] = operand.radices.of(k_ + u * kUnitWords * 4);
  }

  LOCKSTEP_DEVICE void fetch() {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      DigitsOfK k = digits_[u];
      LOCKSTEP_UNROLL
      for (int i = 0; i < 4; ++i) {
        words_[u][i][0] = words_[u][i][1] = 0;
        if (k_ + u * kUnitWords * 4 + i < depth_) at(k, words_[u][i]);
        k = operand_.radices.next(k);
      }
      digits_[u] = operand_.radices.next_step(digits_[u]);
    }
    k_ += kDepth;
  }

  LOCKSTEP_DEVICE void store(const Planes& to) const {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      LOCKSTEP_UNROLL
      for (int pair = 0; pair < 2; ++pair) {
        const std::uint32_t a = words_[u][0][pair], b = words_[u][1][pair];
        const std::uint32_t c = words_[u][2][pair], d = words_[u][3][pair];
        const int row = row_ + 2 * pair, word = word_ + u * kUnitWords;
        to.put(row, word, slices_of((a & 0xffffU) | b << 16, (c & 0xffffU) | d << 16));
        to.put(row + 1, word, slices_of(a >> 16 | (b & 0xffff0000U), c >> 16 | (d & 0xffff0000U)));
      }
    }
  }

 private:
  static constexpr int kGroups = kRows / 32;                         // of rows
  static constexpr int kUnitWords = kThreads / kWarp / kGroups * 4;  // from unit to unit
  static constexpr int kUnits = kRows / 4 * (kDepth / 4) / kThreads;
  static constexpr int kFound = kWide ? 1 : 4;  // rows that are looked for
  static_assert(kUnits * kUnitWords == kRowWords);

  LOCKSTEP_DEVICE void at(const DigitsOfK& k, std::uint32_t (&to)[2]) const {
    if constexpr (kWide) {
      const std::int16_t* const from = operand_.find(rows_[0], k);
      if (from != nullptr) load(from, to);
    } else {
      LOCKSTEP_UNROLL
      for (int r = 0; r < 4; ++r) to[r / 2] |= bits_of(operand_.find(rows_[r], k)) << r % 2 * 16;
    }
  }

  const Operand& operand_;
  int row_, word_;
  std::int32_t k_, depth_;
  DigitsOfK digits_[kUnits];
  typename Operand::Row rows_[kFound];
  std::uint32_t words_[kUnits][4][2];
};

}  // namespace lockstep::numerics::cuda
