// Private: where float products for CUDA (float_tile-inl.h) find their operands, four floats at a
// time: aligned to 16 bytes, and all there or none.
//
// A source has an outer dimension (rows of the left operand, columns of the right one) and k. Its
// four floats lie one after another along the outer dimension, or along k (kAlongK):
//
//   place(z, outer)        what is known of the outer index: computed once a tile
//   cursor(k)              what is known of k
//   advance(cursor)        moves it by kFloatStep, without division
//   past(cursor)           k is not below the depth
//   there(place, cursor)   the four floats are there; else they are zeros. Behind the last outer
//                          index they may be those of another one: no result is kept
//   at(place, cursor)      where they are; along the outer dimension, if they are not there, some
//                          others
#pragma once

#include <cstdint>

#include "numerics/cuda/products-inl.h"

namespace lockstep::numerics::cuda {

inline constexpr int kFloatStep = 8;  // of k at a time

// k as digits: high * (middles * lows) + middle * lows + low.
struct Digits {
  int high, middle, low;
};
struct Radix {
  int middles, lows;
  Digits step;  // kFloatStep

  LOCKSTEP_HD Digits of(int k) const {
    return {k / (middles * lows), k / lows % middles, k % lows};
  }
  LOCKSTEP_DEVICE void advance(Digits& d) const {
    d.low += step.low;
    d.middle += step.middle;
    d.high += step.high;
    if (d.low >= lows) d.low -= lows, ++d.middle;
    if (d.middle >= middles) d.middle -= middles, ++d.high;
  }
};

inline Radix radix_of(std::int64_t middles, std::int64_t lows) {
  Radix radix{static_cast<int>(middles), static_cast<int>(lows), {}};
  radix.step = radix.of(kFloatStep);
  return radix;
}

// Where matrix z of a product lies (Batch).
template <class Index>
struct Matrices {
  int count;  // of a batch
  Index step, outer;

  LOCKSTEP_HD Matrices(Index step_in) : count(1 << 30), step(step_in), outer(0) {}  // one batch
  LOCKSTEP_HD Matrices(int count_in, Index step_in, Index outer_in)
      : count(count_in), step(step_in), outer(outer_in) {}
  LOCKSTEP_HD Index of(int z) const { return z / count * outer + z % count * step; }
};

// data[batch.of(z) + outer * row + k].
struct RowsAlongK {
  static constexpr bool kAlongK = true;
  const float* data;
  Matrices<int> batch;
  int row;
  int extent, depth;

  using Place = const float*;
  using Cursor = int;
  LOCKSTEP_DEVICE Place place(int z, int outer) const {
    return data + (batch.of(z) + (outer < extent ? outer : 0) * row);
  }
  LOCKSTEP_DEVICE Cursor cursor(int k) const { return k; }
  LOCKSTEP_DEVICE void advance(Cursor& k) const { k += kFloatStep; }
  LOCKSTEP_DEVICE bool past(Cursor k) const { return k >= depth; }
  LOCKSTEP_DEVICE bool there(Place, Cursor k) const { return !past(k); }
  LOCKSTEP_DEVICE const float* at(Place from, Cursor k) const { return from + k; }
};

// Rows that are cut in two (Sides).
struct SidesAlongK {
  static constexpr bool kAlongK = true;
  const float* left;
  const float* right;
  int cut, rest;  // floats of a row on the left, on the right
  int extent;

  using Place = int;
  using Cursor = int;
  LOCKSTEP_DEVICE Place place(int, int outer) const { return outer < extent ? outer : 0; }
  LOCKSTEP_DEVICE Cursor cursor(int k) const { return k; }
  LOCKSTEP_DEVICE void advance(Cursor& k) const { k += kFloatStep; }
  LOCKSTEP_DEVICE bool past(Cursor k) const { return k >= cut + rest; }
  LOCKSTEP_DEVICE bool there(Place, Cursor k) const { return !past(k); }
  LOCKSTEP_DEVICE const float* at(Place outer, Cursor k) const {
    const float* const side = k < cut ? left : right;
    return side + (outer * (k < cut ? cut : rest) + (k < cut ? k : k - cut));
  }
};

// data[batch.of(z) + k * row + outer].
struct RowsAlongOuter {
  static constexpr bool kAlongK = false;
  const float* data;
  Matrices<int> batch;
  int row;
  int extent, depth;

  using Place = const float*;
  struct Cursor {
    int k, offset;
  };
  LOCKSTEP_DEVICE Place place(int z, int outer) const {
    return data + (batch.of(z) + (outer < extent ? outer : 0));
  }
  LOCKSTEP_DEVICE Cursor cursor(int k) const { return {k, k < depth ? k * row : 0}; }
  LOCKSTEP_DEVICE void advance(Cursor& c) const {
    c.k += kFloatStep;
    c.offset = past(c) ? 0 : c.offset + kFloatStep * row;
  }
  LOCKSTEP_DEVICE bool past(const Cursor& c) const { return c.k >= depth; }
  LOCKSTEP_DEVICE bool there(Place, const Cursor& c) const { return !past(c); }
  LOCKSTEP_DEVICE const float* at(Place from, const Cursor& c) const { return from + c.offset; }
};

inline constexpr int kMostTaps = 16;         // a side of a kernel
inline constexpr int kNowhere = -(1 << 30);  // outside any image, wherever taps move it

// 1 or 0: a place is in an image.
LOCKSTEP_DEVICE inline unsigned within(int place, int size) {
  return static_cast<unsigned>(place) < static_cast<unsigned>(size) ? 1U : 0U;
}

// Pixels around the outer index, a position; k is (ky, kx, channel). Of a convolution's input (taps
// lead away from the first pixel) and, for input gradients, of its output (they lead back).
struct PixelsAlongK {
  static constexpr bool kAlongK = true;
  const float* data;
  int h, w, c;
  int count_y, count_x, extent;        // positions of a sample, of all
  int apart, first_y, first_x, leads;  // first pixel = apart * position + first; leads is 1 or -1
  int taps_y;
  Radix taps;

  // Bit ky: the tap's row is in the image; bit kMostTaps + kx: its column is.
  struct Place {
    unsigned inside;
    const float* from;
  };
  using Cursor = Digits;
  LOCKSTEP_DEVICE Place place(int, int outer) const {
    if (outer >= extent) return {0, data};
    const int n = outer / (count_y * count_x);
    const int y = outer / count_x % count_y * apart + first_y,
              x = outer % count_x * apart + first_x;
    unsigned inside = 0;
    for (int k = 0; k < taps_y; ++k) inside |= within(y + leads * k, h) << k;
    for (int k = 0; k < taps.middles; ++k) inside |= within(x + leads * k, w) << (kMostTaps + k);
    return {inside, data + ((n * h + y) * w + x) * c};
  }
  LOCKSTEP_DEVICE Cursor cursor(int k) const { return taps.of(k); }
  LOCKSTEP_DEVICE void advance(Cursor& k) const { taps.advance(k); }
  LOCKSTEP_DEVICE bool past(const Cursor& k) const { return k.high >= taps_y; }
  // Behind the depth `high` is at most 31: stages go less than 64 of k behind it, a tap has four.
  LOCKSTEP_DEVICE bool there(const Place& p, const Cursor& k) const {
    const unsigned inside = (p.inside >> k.high) & (p.inside >> (kMostTaps + k.middle)) & 1U;
    return (inside & (past(k) ? 0U : 1U)) != 0;
  }
  LOCKSTEP_DEVICE const float* at(const Place& p, const Cursor& k) const {
    return p.from + (leads * (k.high * w + k.middle) * c + k.low);
  }
};

// Weights of the outer index, an input channel; k is (ky, kx, output channel) of some taps.
struct WeightsAlongK {
  static constexpr bool kAlongK = true;
  const float* data;  // of the first tap
  int extent, out;
  int step_y, step_x;  // floats from a tap to the next
  int taps_y;
  Radix taps;

  using Place = const float*;
  using Cursor = Digits;
  LOCKSTEP_DEVICE Place place(int, int outer) const {
    return data + (outer < extent ? outer : 0) * out;
  }
  LOCKSTEP_DEVICE Cursor cursor(int k) const { return taps.of(k); }
  LOCKSTEP_DEVICE void advance(Cursor& k) const { taps.advance(k); }
  LOCKSTEP_DEVICE bool past(const Cursor& k) const { return k.high >= taps_y; }
  LOCKSTEP_DEVICE bool there(Place, const Cursor& k) const { return !past(k); }
  LOCKSTEP_DEVICE const float* at(Place from, const Cursor& k) const {
    return from + (k.high * step_y + k.middle * step_x + k.low);
  }
};

// Pixels under the outer index, a tap and channel; k is (sample of lane z, oy, ox).
struct PixelsAlongOuter {
  static constexpr bool kAlongK = false;
  const float* data;
  int h, w, c;
  int kw, extent;  // of the taps; taps * c
  int stride, pad;
  int samples;  // a lane
  Radix positions;

  struct Place {
    int y, x, offset;
  };
  using Cursor = Digits;
  LOCKSTEP_DEVICE Place place(int z, int outer) const {
    if (outer >= extent) return {kNowhere, kNowhere, 0};
    const int y = outer / (c * kw) - pad, x = outer / c % kw - pad;
    return {y, x, ((z * samples * h + y) * w + x) * c + outer % c};
  }
  LOCKSTEP_DEVICE Cursor cursor(int k) const { return positions.of(k); }
  LOCKSTEP_DEVICE void advance(Cursor& k) const { positions.advance(k); }
  LOCKSTEP_DEVICE bool past(const Cursor& k) const { return k.high >= samples; }
  LOCKSTEP_DEVICE bool there(const Place& p, const Cursor& k) const {
    // Without branches: the sums go on meanwhile.
    return (within(p.y + stride * k.middle, h) & within(p.x + stride * k.low, w) &
            (past(k) ? 0U : 1U)) != 0;
  }
  LOCKSTEP_DEVICE const float* at(const Place& p, const Cursor& k) const {
    const int offset = p.offset + ((k.high * h + stride * k.middle) * w + stride * k.low) * c;
    return data + (there(p, k) ? offset : 0);
  }
};

}  // namespace lockstep::numerics::cuda
