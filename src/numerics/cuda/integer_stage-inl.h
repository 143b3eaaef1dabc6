// Private: how rows of an operand (integer_operands-inl.h) come from memory to shared memory
// (integer_lines-inl.h), kDepth of k at a time.
//
// kWide: neighbours in memory stay so in groups of eight, which are aligned to 16 bytes. They are
// copied while threads go on. Others are read one by one.
//
// Rows that are too many are read as the last ones: nobody takes their results. Behind the depth
// and outside of an image nothing is read, wherever that would be, and zeros are stored.
#pragma once

#include "numerics/cuda/integer_lines-inl.h"
#include "numerics/cuda/integer_operands-inl.h"
#include "numerics/cuda/vector.h"

namespace lockstep::numerics::cuda {

using Chunk = Vector<std::int16_t, kChunk>;

template <class Operand>
LOCKSTEP_DEVICE inline std::int16_t value_at(const Operand& operand,
                                             const typename Operand::Row& row,
                                             const typename Operand::Move& move, bool there) {
  return there && operand.inside(row, move) ? *operand.at(row, move) : std::int16_t{0};
}

// Lines along k: a thread has the same chunk of some rows.
template <class Operand, int kRows, int kThreads, bool kWide, bool kAlongK = Operand::kAlongK>
class Stage {
  using Lines = cuda::Lines<Operand, kRows>;

 public:
  LOCKSTEP_DEVICE Stage(const Operand& operand, int thread, std::int64_t z, std::int64_t first,
                        std::int64_t rows, std::int32_t depth)
      : operand_(operand),
        place_(Lines::at(thread / Lines::kChunks, thread % Lines::kChunks)),
        k_(thread % Lines::kChunks * kChunk),
        depth_(depth) {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      const std::int64_t row = first + thread / Lines::kChunks + u * kUnitLines;
      rows_[u] = operand.row(z, row < rows ? row : rows - 1);
    }
    digits_ = operand.radices.of(k_);
  }

  // The next kDepth of k.
  template <class Thread>
  LOCKSTEP_DEVICE void fetch(Thread& t, std::int16_t* lines) {
    if constexpr (kWide) {
      const auto move = operand_.move(digits_);
      LOCKSTEP_UNROLL
      for (int u = 0; u < kUnits; ++u) {
        const std::int16_t* const from = operand_.at(rows_[u], move);
        const bool there = k_ < depth_ && operand_.inside(rows_[u], move);
        if constexpr (Operand::kReread)
          t.copy_reread(lines + place(u), from, there);
        else
          t.copy_async(lines + place(u), from, there);
      }
    } else {
      Chunk chunks[kUnits];
      DigitsOfK k = digits_;
      LOCKSTEP_UNROLL
      for (int i = 0; i < kChunk; ++i) {
        const auto move = operand_.move(k);
        LOCKSTEP_UNROLL
        for (int u = 0; u < kUnits; ++u)
          chunks[u].of[i] = value_at(operand_, rows_[u], move, k_ + i < depth_);
        k = operand_.radices.next(k);
      }
      LOCKSTEP_UNROLL
      for (int u = 0; u < kUnits; ++u) *reinterpret_cast<Chunk*>(lines + place(u)) = chunks[u];
    }
    k_ += kDepth;
    digits_ = operand_.radices.next_step(digits_);
  }

 private:
  static constexpr int kUnitLines = kThreads / Lines::kChunks;
  static constexpr int kUnits = kRows / kUnitLines;
  static_assert(kUnits * kUnitLines == kRows && kUnitLines % 8 == 0);

  LOCKSTEP_DEVICE int place(int unit) const { return place_ + unit * kUnitLines * Lines::kLine; }

  const Operand& operand_;
  int place_;
  std::int32_t k_, depth_;
  DigitsOfK digits_;
  typename Operand::Row rows_[kUnits];
};

// Lines along rows: a thread has the same chunk of rows at some k.
template <class Operand, int kRows, int kThreads, bool kWide>
class Stage<Operand, kRows, kThreads, kWide, false> {
  using Lines = cuda::Lines<Operand, kRows>;

 public:
  LOCKSTEP_DEVICE Stage(const Operand& operand, int thread, std::int64_t z, std::int64_t first,
                        std::int64_t rows, std::int32_t depth)
      : operand_(operand),
        place_(Lines::at(thread / Lines::kChunks, thread % Lines::kChunks)),
        first_k_(thread / Lines::kChunks),
        k_(first_k_),
        depth_(depth) {
    LOCKSTEP_UNROLL
    for (int r = 0; r < kFound; ++r) {
      const std::int64_t row = first + thread % Lines::kChunks * kChunk + r;
      rows_[r] = operand.row(z, row < rows ? row : rows - kChunk / kFound);
    }
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      digits_[u] = operand.radices.of(k_ + u * kUnitLines);
      first_[u] = operand.radices.packed(digits_[u]);
    }
  }

  // What is fetched next begins with the first k of the next z.
  LOCKSTEP_DEVICE void next() {
    LOCKSTEP_UNROLL
    for (int r = 0; r < kFound; ++r) rows_[r] = operand_.next(rows_[r]);
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) digits_[u] = operand_.radices.unpacked(first_[u]);
    k_ = first_k_;
  }

  template <class Thread>
  LOCKSTEP_DEVICE void fetch(Thread& t, std::int16_t* lines) {
    LOCKSTEP_UNROLL
    for (int u = 0; u < kUnits; ++u) {
      const auto move = operand_.move(digits_[u]);
      const bool there = k_ + u * kUnitLines < depth_;
      std::int16_t* const to = lines + place_ + u * kUnitLines * Lines::kLine;
      if constexpr (kWide) {
        t.copy_async(to, operand_.at(rows_[0], move), there && operand_.inside(rows_[0], move));
      } else {
        Chunk chunk;
        LOCKSTEP_UNROLL
        for (int r = 0; r < kChunk; ++r) chunk.of[r] = value_at(operand_, rows_[r], move, there);
        *reinterpret_cast<Chunk*>(to) = chunk;
      }
      digits_[u] = operand_.radices.next_step(digits_[u]);
    }
    k_ += kDepth;
  }

 private:
  static constexpr int kUnitLines = kThreads / Lines::kChunks;
  static constexpr int kUnits = kDepth / kUnitLines;
  static constexpr int kFound = kWide ? 1 : kChunk;  // rows that are looked for
  static_assert(kUnits * kUnitLines == kDepth && kUnitLines % 8 == 0);

  const Operand& operand_;
  int place_;
  std::int32_t first_k_, k_, depth_;
  DigitsOfK digits_[kUnits];
  std::uint32_t first_[kUnits];  // digits, of the first step
  typename Operand::Row rows_[kFound];
};

}  // namespace lockstep::numerics::cuda
