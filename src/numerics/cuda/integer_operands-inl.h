// Private: where the operands of integer products lie in memory: convolutions gather them (implicit
// GEMM).
//
// An operand says what its row is (`row`: of results, or a column of them), once a tile; how far k
// moves in any row (`move`); whether the value of a row at k is in the image, else it is 0
// (`inside`); and its place (`at`), which holds its pair unless slices lie `apart`. `ahead` is a
// row some values further in memory. Where products of several samples follow each other, `next` is
// the row of the next sample. k is in digits, because k is a tap and a channel, or a pixel: they
// are counted on without a division. Moves fit 32 bits.
#pragma once

#include "numerics/cuda/integer_slices-inl.h"

namespace lockstep::numerics::cuda {

// k = (slow * middle + ...) * fast + ..., the two lower digits below their radices.
struct DigitsOfK {
  std::int32_t fast, middle, slow;
};

class Radices {
 public:
  // At least 1 each.
  Radices(std::int32_t fast, std::int32_t middle)
      : fast_(fast), middle_(middle), step_(of(kDepth)) {}

  LOCKSTEP_HD DigitsOfK of(std::int32_t k) const {
    return {k % fast_, k / fast_ % middle_, k / fast_ / middle_};
  }
  // Of a k below kDepth, whose digits are small.
  LOCKSTEP_HD static std::uint32_t packed(const DigitsOfK& k) {
    return static_cast<std::uint32_t>(k.fast | k.middle << 8 | k.slow << 16);
  }
  LOCKSTEP_HD static DigitsOfK unpacked(std::uint32_t k) {
    return {static_cast<std::int32_t>(k & 0xff), static_cast<std::int32_t>(k >> 8 & 0xff),
            static_cast<std::int32_t>(k >> 16)};
  }
  LOCKSTEP_DEVICE DigitsOfK next(const DigitsOfK& k) const {
    return carried({k.fast + 1, k.middle, k.slow});
  }
  // k + kDepth
  LOCKSTEP_DEVICE DigitsOfK next_step(const DigitsOfK& k) const {
    return carried({k.fast + step_.fast, k.middle + step_.middle, k.slow + step_.slow});
  }

 private:
  LOCKSTEP_DEVICE DigitsOfK carried(DigitsOfK k) const {
    if (k.fast >= fast_) {
      k.fast -= fast_;
      ++k.middle;
    }
    if (k.middle >= middle_) {
      k.middle -= middle_;
      ++k.slow;
    }
    return k;
  }

  std::int32_t fast_, middle_;
  DigitsOfK step_;  // known to the host, so that it needs no registers
};

// k in one digit.
class OneDigit {
 public:
  LOCKSTEP_HD DigitsOfK of(std::int32_t k) const { return {k, 0, 0}; }
  LOCKSTEP_HD static std::uint32_t packed(const DigitsOfK& k) {
    return static_cast<std::uint32_t>(k.fast);
  }
  LOCKSTEP_HD static DigitsOfK unpacked(std::uint32_t k) {
    return {static_cast<std::int32_t>(k), 0, 0};
  }
  LOCKSTEP_DEVICE DigitsOfK next(const DigitsOfK& k) const { return {k.fast + 1, 0, 0}; }
  LOCKSTEP_DEVICE DigitsOfK next_step(const DigitsOfK& k) const { return {k.fast + kDepth, 0, 0}; }
};

// Ends the program unless moves by fewer values fit.
inline void must_move_less_than(std::int64_t values) {
  LOCKSTEP_ASSERT(values < std::int64_t{1} << 31, "k moves an operand by more than 32 bits count");
}

// An axis of an image as a convolution reads it: output position p and tap t meet at
// first + p * step + t * tap_step.
struct Axis {
  std::int32_t size;  // of the image
  std::int32_t positions;
  std::int32_t taps;
  std::int32_t first, step, tap_step;
};

// Pixels with their channels: x[n][y.size][x.size][c]; n * y.size fits 32 bits.
struct Pixels {
  const std::int16_t* data;
  bool apart;
  Axis y, x;
  std::int32_t c;

  // Of a row: the pixel where its moves begin. It may lie outside the image; `from` is then a place
  // that is never read.
  struct Row {
    const std::int16_t* from;
    std::int32_t y, x;
  };
  struct Move {
    std::int32_t down, right, values;
  };

  LOCKSTEP_DEVICE Row row_from(std::int64_t sample, std::int32_t at_y, std::int32_t at_x,
                               std::int32_t channel) const {
    const std::int64_t line = sample * y.size + at_y;
    return {data + ((line * x.size + at_x) * c + channel), at_y, at_x};
  }
  LOCKSTEP_DEVICE Move moved(std::int32_t down, std::int32_t right, std::int32_t channels) const {
    return {down, right, (down * x.size + right) * c + channels};
  }
  LOCKSTEP_DEVICE bool inside(const Row& row, const Move& move) const {
    const bool in_y = in(row.y + move.down, y.size), in_x = in(row.x + move.right, x.size);
    return in_y && in_x;  // a branch would stand between products
  }
  LOCKSTEP_DEVICE const std::int16_t* at(const Row& row, const Move& move) const {
    return row.from + move.values;
  }
  LOCKSTEP_DEVICE Row ahead(const Row& row, int values) const {
    return {row.from + values, row.y, row.x};
  }

 private:
  LOCKSTEP_DEVICE static bool in(std::int32_t place, std::int32_t size) {
    return static_cast<std::uint32_t>(place) < static_cast<std::uint32_t>(size);
  }
};

// Row i is the output position i of all samples, k a tap and a channel. Patches of neighbours
// overlap, so that a block reads most pixels for several taps.
struct PatchRows : Pixels {
  static constexpr bool kAlongK = true, kReread = true;
  Radices radices;

  explicit PatchRows(const Pixels& pixels) : Pixels(pixels), radices(c, x.taps) {
    must_move_less_than((std::int64_t{y.taps} * x.size + x.taps) * c);
  }

  LOCKSTEP_DEVICE Row row(std::int64_t, std::int64_t i) const {
    const auto n = static_cast<std::uint32_t>(i), across = static_cast<std::uint32_t>(x.positions),
               down = static_cast<std::uint32_t>(y.positions);
    const std::uint32_t line = n / across, sample = line / down;
    const auto at_x = static_cast<std::int32_t>(n - line * across);
    const auto at_y = static_cast<std::int32_t>(line - sample * down);
    return row_from(sample, y.first + at_y * y.step, x.first + at_x * x.step, 0);
  }
  LOCKSTEP_DEVICE Move move(const DigitsOfK& k) const {
    return moved(k.slow * y.tap_step, k.middle * x.tap_step, k.fast);
  }
};

// Row i is a tap and a channel, k an output position of sample z.
struct PatchColumns : Pixels {
  static constexpr bool kAlongK = false;
  Radices radices;

  explicit PatchColumns(const Pixels& pixels) : Pixels(pixels), radices(x.positions, y.positions) {
    must_move_less_than(
        (std::int64_t{y.positions} * y.step * x.size + std::int64_t{x.positions} * x.step) * c);
  }

  LOCKSTEP_DEVICE Row row(std::int64_t z, std::int64_t i) const {
    const auto tap = static_cast<std::int32_t>(i / c);
    return row_from(z, y.first + tap / x.taps * y.tap_step, x.first + tap % x.taps * x.tap_step,
                    static_cast<std::int32_t>(i % c));
  }
  LOCKSTEP_DEVICE Row next(const Row& row) const {
    return {row.from + std::int64_t{y.size} * x.size * c, row.y, row.x};
  }
  LOCKSTEP_DEVICE Move move(const DigitsOfK& k) const {
    return moved(k.middle * y.step, k.fast * x.step, 0);
  }
};

// Row i is column i of a matrix [depth][columns], of which each z has one.
struct MatrixColumns {
  static constexpr bool kAlongK = false;
  using Row = const std::int16_t*;
  using Move = std::int32_t;

  const std::int16_t* data;
  bool apart;
  std::int32_t columns, depth;
  OneDigit radices;

  MatrixColumns(const std::int16_t* matrix, bool apart_in, std::int32_t columns_in,
                std::int32_t depth_in)
      : data(matrix), apart(apart_in), columns(columns_in), depth(depth_in) {
    must_move_less_than(std::int64_t{depth} * columns);
  }

  LOCKSTEP_DEVICE Row row(std::int64_t z, std::int64_t i) const {
    return data + z * depth * columns + i;
  }
  LOCKSTEP_DEVICE Row next(Row row) const { return row + std::int64_t{depth} * columns; }
  LOCKSTEP_DEVICE Move move(const DigitsOfK& k) const { return k.fast * columns; }
  LOCKSTEP_DEVICE bool inside(Row, Move) const { return true; }
  LOCKSTEP_DEVICE const std::int16_t* at(Row row, Move move) const { return row + move; }
  LOCKSTEP_DEVICE Row ahead(Row row, int values) const { return row + values; }
};

// Row i is an input channel of w[kh][kw][in][out], k an output channel and one of the taps
// first, first + step ...
struct WeightRows {
  static constexpr bool kAlongK = true, kReread = false;
  using Row = std::int32_t;  // the whole operand counts in 32 bits
  using Move = std::int32_t;

  const std::int16_t* data;
  bool apart;
  std::int32_t kw, in, out;
  std::int32_t first_ky, first_kx, step;
  Radices radices;

  LOCKSTEP_DEVICE Row row(std::int64_t, std::int64_t i) const { return static_cast<Row>(i) * out; }
  LOCKSTEP_DEVICE Move move(const DigitsOfK& k) const {
    const std::int32_t tap = (first_ky + k.slow * step) * kw + first_kx + k.middle * step;
    return tap * in * out + k.fast;
  }
  LOCKSTEP_DEVICE bool inside(Row, Move) const { return true; }
  LOCKSTEP_DEVICE const std::int16_t* at(Row row, Move move) const { return data + (row + move); }
  LOCKSTEP_DEVICE Row ahead(Row row, int values) const { return row + values; }
};

}  // namespace lockstep::numerics::cuda
