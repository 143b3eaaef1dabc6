// Private: the SIMD kernels of integer products. Pairs of neighbouring integers are multiplied and
// added at a time: `a` is broadcast pair by pair, columns are vector lanes.
//
//   S[r][j] = sum over pairs p, i < 2 of a[r][a_offset[p] + i] * b[p][j][i], exact
//   v       = S * 2^exponent, rounded once
//   c[r][j] = v, or c + v;  then + bias[j]
#pragma once

#include <cstdint>

#include "lockstep/numerics/isa.h"

namespace lockstep::numerics {

struct IntegerTile {
  const std::int16_t* const* a = nullptr;  // [rows]
  const std::int64_t* a_offset = nullptr;  // [pairs]
  const std::int16_t* b = nullptr;         // of a panel, see PackedPairs
  std::int64_t pairs = 0;
  bool fits = false;  // every S, and every part of it, into 32 bits
  std::int32_t exponent = 0;
  float* const* c = nullptr;  // [rows]
  int rows = 0, columns = 0;  // see IntegerKernels
  bool add = false;
  const float* bias = nullptr;  // [columns], or null
};

struct IntegerKernels {
  int rows = 0;   // of the largest tile
  int lanes = 0;  // results a vector
  void (*tile)(const IntegerTile& tile) = nullptr;
  // to[2*i] = a[i], to[2*i+1] = b[i]; without b: 0.
  void (*interleave)(std::int64_t n, const std::int16_t* a, const std::int16_t* b,
                     std::int16_t* to) = nullptr;
  // The largest sum of |b| over the pairs of a panel's column, if it is kMostOfColumn at most; else
  // something larger.
  std::int64_t (*column_sum)(std::int64_t pairs, std::int64_t width,
                             const std::int16_t* b) = nullptr;
  // The largest spec::magnitude of n values.
  std::uint32_t (*largest)(std::int64_t n, const float* x) = nullptr;
  // spec::rounded of each of x [rows][c]; rows of q are q_row apart.
  void (*round)(std::int64_t rows, std::int64_t c, float factor, const float* x, std::int64_t q_row,
                std::int16_t* q) = nullptr;

  int columns() const { return 2 * lanes; }
};

// Sums of this many fit 32 bits with any a: 2047 * 2^20 < 2^31.
constexpr std::int64_t kMostOfColumn = std::int64_t{1} << 20;

// isa is not kScalar: that one has its own plain code (integer_scalar.h).
const IntegerKernels& integer_kernels(Isa isa);

}  // namespace lockstep::numerics
