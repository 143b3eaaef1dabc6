// Private: how rows of an operand (integer_operands-inl.h) come from memory to shared memory
// (integer_lines-inl.h), kDepth of k at a time.
//
// kWide: slices lie apart (integer_slices-inl.h), sixteen neighbours in memory are neighbours in
// every row, and threads go on while chunks are copied. Other integers are read one by one, eight
// a thread.
//
// Rows that are too many are read as the last ones: nobody takes their results. Behind the depth
// and outside of an image nothing is read, wherever that would be, and zeros are stored.
#pragma once

#include "numerics/cuda/integer_lines-inl.h"
#include "numerics/cuda/integer_operands-inl.h"
#include "numerics/cuda/vector.h"

namespace lockstep::numerics::cuda {

// What a thread brings of sixteen neighbours: of wide operands a chunk, else half of both chunks.
template <bool kWide>
class Piece {
 public:
  // Of chunk `which` of a line, which is at `place`.
  LOCKSTEP_DEVICE Piece(int which, int place) : odd_(which % 2), place_(place) {
    first_ = kWide ? which / 2 * kApart : which * kChunk;
  }

  // The first of its values in a line; from there to the chunk that is copied.
  LOCKSTEP_DEVICE int first() const { return first_; }
  LOCKSTEP_DEVICE int ahead() const { return kWide ? odd_ * kChunk : 0; }
  LOCKSTEP_DEVICE int place() const { return place_; }

  struct Slices {
    Vector<std::uint8_t, kChunk> low, high;
  };
  template <class Operand>
  LOCKSTEP_DEVICE static void set(Slices& slices, int i, const Operand& operand,
                                  const typename Operand::Row& row,
                                  const typename Operand::Move& move, bool there) {
    std::uint16_t pair = 0;
    if (there && operand.inside(row, move)) pair = pair_at(operand.at(row, move), operand.apart);
    slices.low.of[i] = static_cast<std::uint8_t>(pair);
    slices.high.of[i] = static_cast<std::uint8_t>(pair >> 8);
  }
  // In lines that begin at `lines`.
  LOCKSTEP_DEVICE void put(const Slices& slices, std::int16_t* lines) const {
    const int low = place_ ^ odd_ * kChunk, high = low ^ kChunk;  // chunks
    const auto half = [&](int chunk) {
      return reinterpret_cast<Vector<std::uint8_t, kChunk>*>(lines + chunk + odd_ * (kChunk / 2));
    };
    *half(low) = slices.low;
    *half(high) = slices.high;
  }

 private:
  int odd_, place_, first_;
};

// Lines along k: a thread has the same chunk of some rows.
template <class Operand, int kRows, int kThreads, bool kWide, bool kAlongK = Operand::kAlongK>
class Stage {
  using Lines = cuda::Lines<Operand, kRows>;
  static constexpr int kUnitLines = kThreads / Lines::kChunks;
  static constexpr int kUnits = kRows / kUnitLines;

 public:
  static constexpr int kCopies = kWide ? kUnits : 1;  // of kDepth of k

  LOCKSTEP_DEVICE Stage(const Operand& operand, int thread, std::int64_t z, std::int64_t first,
                        std::int64_t rows, std::int32_t depth)
      : operand_(operand),
        piece_(thread % Lines::kChunks,
               Lines::at(thread / Lines::kChunks, thread % Lines::kChunks)),
        k_(piece_.first()),
        depth_(depth) {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      const std::int64_t row = first + thread / Lines::kChunks + u * kUnitLines;
      rows_[u] = operand.ahead(operand.row(z, row < rows ? row : rows - 1), piece_.ahead());
    }
    digits_ = operand.radices.of(k_);
  }

  // One of the copies.
  template <class Thread>
  LOCKSTEP_DEVICE void copy(Thread& t, std::int16_t* lines, int u) {
    if constexpr (kWide) {
      const auto move = operand_.move(digits_);
      std::int16_t* const to = lines + u * kUnitLines * Lines::kLine + piece_.place();
      const std::int16_t* const from = operand_.at(rows_[u], move);
      const bool in_depth = k_ < depth_, inside = operand_.inside(rows_[u], move);
      if constexpr (Operand::kReread)
        t.copy_reread(to, from, in_depth && inside);
      else
        t.copy_async(to, from, in_depth && inside);
    } else {
      read_values(lines);
    }
  }

  // What is copied next is the next kDepth of k.
  LOCKSTEP_DEVICE void next() {
    k_ += kDepth;
    digits_ = operand_.radices.next_step(digits_);
  }

 private:
  // Of all units at once: their k is counted on together.
  LOCKSTEP_DEVICE void read_values(std::int16_t* lines) const {
    typename Piece<kWide>::Slices slices[kUnits];
    DigitsOfK k = digits_;
    LOCKSTEP_UNROLL
    for (int i = 0; i < kChunk; ++i) {
      const auto move = operand_.move(k);
      LOCKSTEP_UNROLL
      for (int u = 0; u < kUnits; ++u)
        piece_.set(slices[u], i, operand_, rows_[u], move, k_ + i < depth_);
      k = operand_.radices.next(k);
    }
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) piece_.put(slices[u], lines + u * kUnitLines * Lines::kLine);
  }

  static_assert(kUnits * kUnitLines == kRows && kUnitLines % 16 == 0);

  const Operand& operand_;
  Piece<kWide> piece_;
  std::int32_t k_, depth_;
  DigitsOfK digits_;
  typename Operand::Row rows_[kUnits];
};

// Lines along rows: a thread has the same chunk of rows at some k.
template <class Operand, int kRows, int kThreads, bool kWide>
class Stage<Operand, kRows, kThreads, kWide, false> {
  using Lines = cuda::Lines<Operand, kRows>;
  static constexpr int kUnitLines = kThreads / Lines::kChunks;
  static constexpr int kUnits = kDepth / kUnitLines;

 public:
  static constexpr int kCopies = kUnits;  // of kDepth of k

  LOCKSTEP_DEVICE Stage(const Operand& operand, int thread, std::int64_t z, std::int64_t first,
                        std::int64_t rows, std::int32_t depth)
      : operand_(operand),
        piece_(thread % Lines::kChunks,
               Lines::at(thread / Lines::kChunks, thread % Lines::kChunks)),
        first_k_(thread / Lines::kChunks),
        k_(first_k_),
        depth_(depth) {
    LOCKSTEP_UNROLL
    for (int r = 0; r < kFound; ++r) {
      const std::int64_t row = first + piece_.first() + r;
      rows_[r] = operand.ahead(operand.row(z, row < rows ? row : rows - kFewest), piece_.ahead());
    }
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      digits_[u] = operand.radices.of(k_ + u * kUnitLines);
      first_[u] = operand.radices.packed(digits_[u]);
    }
  }

  // One of the copies.
  template <class Thread>
  LOCKSTEP_DEVICE void copy(Thread& t, std::int16_t* lines, int u) {
    const auto move = operand_.move(digits_[u]);
    const bool in_depth = k_ + u * kUnitLines < depth_;
    std::int16_t* const unit = lines + u * kUnitLines * Lines::kLine;
    if constexpr (kWide) {
      const bool inside = operand_.inside(rows_[0], move);
      t.copy_async(unit + piece_.place(), operand_.at(rows_[0], move), in_depth && inside);
    } else {
      typename Piece<kWide>::Slices slices;
      LOCKSTEP_UNROLL
      for (int r = 0; r < kChunk; ++r) piece_.set(slices, r, operand_, rows_[r], move, in_depth);
      piece_.put(slices, unit);
    }
  }

  // What is copied next is the next kDepth of k.
  LOCKSTEP_DEVICE void next() {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) digits_[u] = operand_.radices.next_step(digits_[u]);
    k_ += kDepth;
  }

  // ... or the first k of the next z, if this product is over.
  LOCKSTEP_DEVICE void next_product(bool over) {
    LOCKSTEP_UNROLL
    for (int r = 0; r < kFound; ++r) {
      const auto next = operand_.next(rows_[r]);
      rows_[r] = over ? next : rows_[r];
    }
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      const DigitsOfK first = operand_.radices.unpacked(first_[u]);
      digits_[u] = over ? first : digits_[u];
    }
    k_ = over ? first_k_ : k_;
  }

 private:
  static constexpr int kFound = kWide ? 1 : kChunk;  // rows that are looked for
  static constexpr int kFewest = kWide ? kApart : 1;
  static_assert(kUnits * kUnitLines == kDepth && kUnitLines % 16 == 0);

  const Operand& operand_;
  Piece<kWide> piece_;
  std::int32_t first_k_, k_, depth_;
  DigitsOfK digits_[kUnits];
  std::uint32_t first_[kUnits];  // digits, of the first step
  typename Operand::Row rows_[kFound];
};

}  // namespace lockstep::numerics::cuda
