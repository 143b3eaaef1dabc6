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

template <class Operand>
LOCKSTEP_DEVICE inline std::uint32_t bits_at(const Operand& operand,
                                             const typename Operand::Row& row,
                                             const typename Operand::Move& move) {
  return operand.inside(row, move) ? static_cast<std::uint16_t>(*operand.at(row, move)) : 0U;
}

// A plane of slices each.
struct Planes {
  std::uint32_t* high;
  std::uint32_t* low;

  LOCKSTEP_DEVICE void put(int word, const Slices& slices) const {
    high[word] = slices.high;
    low[word] = slices.low;
  }
  // Of an even word and the next one.
  LOCKSTEP_DEVICE void put(int word, const Slices& one, const Slices& next) const {
    *reinterpret_cast<Pair*>(high + word) = Pair{{one.high, next.high}};
    *reinterpret_cast<Pair*>(low + word) = Pair{{one.low, next.low}};
  }

 private:
  using Pair = Vector<std::uint32_t, 2>;
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
      : operand_(operand),
        word_(word_at(thread / kParts, thread % kParts * 2)),
        k_(thread % kParts * 8),
        depth_(depth) {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      const std::int64_t row = first + thread / kParts + u * kUnitRows;
      rows_[u] = operand.row(z, row < rows ? row : rows - 1);
    }
    digits_ = operand.radices.of(k_);
  }

  LOCKSTEP_DEVICE void fetch() {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      LOCKSTEP_UNROLL
      for (int i = 0; i < 4; ++i) words_[u][i] = 0;
    }
    if (k_ < depth_) {
      if constexpr (kWide) {
        const auto move = operand_.move(digits_);
        LOCKSTEP_UNROLL
        for (int u = 0; u < kUnits; ++u) {
          if (operand_.inside(rows_[u], move)) load(operand_.at(rows_[u], move), words_[u]);
        }
      } else {
        DigitsOfK k = digits_;
        LOCKSTEP_UNROLL
        for (int i = 0; i < 8; ++i) {
          if (k_ + i < depth_) {
            const auto move = operand_.move(k);
            LOCKSTEP_UNROLL
            for (int u = 0; u < kUnits; ++u)
              words_[u][i / 2] |= bits_at(operand_, rows_[u], move) << i % 2 * 16;
          }
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
      to.put(further_down(word_, u * kUnitRows), slices_of(words_[u][0], words_[u][1]),
             slices_of(words_[u][2], words_[u][3]));
    }
  }

 private:
  static constexpr int kParts = kDepth / 8;  // of a row
  static constexpr int kUnitRows = kThreads / kParts;
  static constexpr int kUnits = kRows / kUnitRows;
  static_assert(kUnits * kUnitRows == kRows && kUnitRows % 16 == 0);

  const Operand& operand_;
  int word_;
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
    for (int u = 0; u < kUnits; ++u) {
      digits_[u] = operand.radices.of(k_ + u * kUnitWords * 4);
      first_[u] = operand.radices.packed(digits_[u]);
    }
  }

  // What is fetched next begins with the first k of the next z.
  LOCKSTEP_DEVICE void next() {
    LOCKSTEP_UNROLL
    for (int r = 0; r < kFound; ++r) rows_[r] = operand_.next(rows_[r]);
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) digits_[u] = operand_.radices.unpacked(first_[u]);
    k_ = word_ * 4;
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
        // Bytes of a row and of the next one; k and k + 2, k + 1 and k + 3.
        const Slices even = slices_of(words_[u][0][pair], words_[u][2][pair]);
        const Slices odd = slices_of(words_[u][1][pair], words_[u][3][pair]);
        const int row = row_ + 2 * pair, word = word_ + u * kUnitWords;
        to.put(word_at(row, word),
               {(even.high & 0xffffU) | odd.high << 16, (even.low & 0xffffU) | odd.low << 16});
        to.put(word_at(row + 1, word), {even.high >> 16 | (odd.high & 0xffff0000U),
                                        even.low >> 16 | (odd.low & 0xffff0000U)});
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
    const auto move = operand_.move(k);
    if constexpr (kWide) {
      if (operand_.inside(rows_[0], move)) load(operand_.at(rows_[0], move), to);
    } else {
      LOCKSTEP_UNROLL
      for (int r = 0; r < 4; ++r) to[r / 2] |= bits_at(operand_, rows_[r], move) << r % 2 * 16;
    }
  }

  const Operand& operand_;
  int row_, word_;
  std::int32_t k_, depth_;
  DigitsOfK digits_[kUnits];
  std::uint32_t first_[kUnits];  // digits, of the first step
  typename Operand::Row rows_[kFound];
  std::uint32_t words_[kUnits][4][2];
};

}  // namespace lockstep::numerics::cuda
