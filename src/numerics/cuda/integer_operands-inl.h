// Private: where the operands of integer products lie in memory: convolutions gather them (implicit
// GEMM).
//
// An operand says what its row is (`row`: of results, or a column of them), once a tile, and where
// the value of that row at k is (`find`; null: outside the image, 0). k is in digits, because k is
// a tap and a channel, or a pixel: they are counted on without a division.
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
  Axis y, x;
  std::int32_t c;

  // A pixel of the image whose lines begin with `line`; it may lie outside.
  struct Row {
    std::int32_t line, y, x, channel;
  };

  LOCKSTEP_DEVICE std::int32_t line_of(std::int64_t sample) const {
    return static_cast<std::int32_t>(sample) * y.size;
  }
  // The value `down` lines and `right` pixels further.
  LOCKSTEP_DEVICE const std::int16_t* value(const Row& row, std::int32_t down, std::int32_t right,
                                            std::int32_t channel) const {
    const std::int32_t at_y = row.y + down, at_x = row.x + right;
    if (at_y < 0 || at_y >= y.size || at_x < 0 || at_x >= x.size) return nullptr;
    return data + (static_cast<std::int64_t>(row.line + at_y) * x.size + at_x) * c + channel;
  }
};

// Row i is the output position i of all samples, k a tap and a channel.
struct PatchRows : Pixels {
  static constexpr bool kAlongK = true;
  Radices radices;

  explicit PatchRows(const Pixels& pixels) : Pixels(pixels), radices(c, x.taps) {}

  LOCKSTEP_DEVICE Row row(std::int64_t, std::int64_t i) const {
    const std::int64_t line = i / x.positions;
    const auto at_x = static_cast<std::int32_t>(i % x.positions);
    const auto at_y = static_cast<std::int32_t>(line % y.positions);
    return {line_of(line / y.positions), y.first + at_y * y.step, x.first + at_x * x.step, 0};
  }
  LOCKSTEP_DEVICE const std::int16_t* find(const Row& row, const DigitsOfK& k) const {
    return value(row, k.slow * y.tap_step, k.middle * x.tap_step, k.fast);
  }
};

// Row i is a tap and a channel, k an output position of sample z.
struct PatchColumns : Pixels {
  static constexpr bool kAlongK = false;
  Radices radices;

  explicit PatchColumns(const Pixels& pixels) : Pixels(pixels), radices(x.positions, y.positions) {}

  LOCKSTEP_DEVICE Row row(std::int64_t z, std::int64_t i) const {
    const auto tap = static_cast<std::int32_t>(i / c);
    return {line_of(z), y.first + tap / x.taps * y.tap_step, x.first + tap % x.taps * x.tap_step,
            static_cast<std::int32_t>(i % c)};
  }
  LOCKSTEP_DEVICE const std::int16_t* find(const Row& row, const DigitsOfK& k) const {
    return value(row, k.middle * y.step, k.fast * x.step, row.channel);
  }
};

// Row i is column i of a matrix [depth][columns], of which each z has one.
struct MatrixColumns {
  static constexpr bool kAlongK = false;
  using Row = const std::int16_t*;

  const std::int16_t* data;
  std::int64_t columns;
  std::int32_t depth;
  Radices radices;

  MatrixColumns(const std::int16_t* matrix, std::int64_t columns_in, std::int32_t depth_in)
      : data(matrix), columns(columns_in), depth(depth_in), radices(depth, 1) {}

  LOCKSTEP_DEVICE Row row(std::int64_t z, std::int64_t i) const {
    return data + z * depth * columns + i;
  }
  LOCKSTEP_DEVICE const std::int16_t* find(Row row, const DigitsOfK& k) const {
    return row + k.fast * columns;
  }
};

// Row i is an input channel of w[kh][kw][in][out], k an output channel and one of the taps
// first, first + step ...
struct WeightRows {
  static constexpr bool kAlongK = true;
  using Row = std::int32_t;

  const std::int16_t* data;
  std::int32_t kw, in, out;
  std::int32_t first_ky, first_kx, step;
  Radices radices;

  LOCKSTEP_DEVICE Row row(std::int64_t, std::int64_t i) const { return static_cast<Row>(i); }
  LOCKSTEP_DEVICE const std::int16_t* find(Row row, const DigitsOfK& k) const {
    const std::int32_t tap = (first_ky + k.slow * step) * kw + first_kx + k.middle * step;
    return data + (static_cast<std::int64_t>(tap) * in + row) * out + k.fast;
  }
};

}  // namespace lockstep::numerics::cuda
