// Private: integers of 12 bits as slices of int8, which tensor cores multiply.
//
//   q = 64 h + l,  h = q >> 6 (-32..31),  l = q & 63 (0..63),  s = h + l (-32..94)
//   q q' = 4096 hh' + 64 (hl' + lh') + ll' = 4032 hh' + 64 ss' - 63 ll'
//
// So three products of slices make one of integers (Karatsuba and Ofman 1962), not four. Sums of
// them are exact in int32 as long as `kExactDepth` says.
#pragma once

#include "lockstep/numerics/spec/integer.h"
#include "numerics/cuda/thread.h"

namespace lockstep::numerics::cuda {

inline constexpr int kDepth = 64;  // of k at a time in shared memory
inline constexpr std::int64_t kExactDepth = std::int64_t{1} << 17;
static_assert(kExactDepth % kDepth == 0);
static_assert(spec::kLargestQ >> 6 == 31 && 94 * 94 * kExactDepth < std::int64_t{1} << 31);

// Four values each, a byte a value.
struct Slices {
  std::uint32_t high, low;
};

// Bytes 0 and 2 of `even`, 1 and 3 of `odd`: one instruction (LOP3).
LOCKSTEP_DEVICE inline std::uint32_t bytes_of(std::uint32_t even, std::uint32_t odd) {
  return odd ^ ((even ^ odd) & 0x00ff00ffU);
}

// `first` holds the values k and k + 1 in 16 bits each, `second` k + 2 and k + 3. Their bytes come
// out as k, k + 2, k + 1, k + 3, for every operand: a sum has no order.
LOCKSTEP_DEVICE inline Slices slices_of(std::uint32_t first, std::uint32_t second) {
  return {bytes_of(first >> 6, second << 2), bytes_of(first, second << 8) & 0x3f3f3f3fU};
}

// high + low, byte by byte: bytes without their highest bit cannot carry into the next.
LOCKSTEP_DEVICE inline std::uint32_t sums_of(std::uint32_t high, std::uint32_t low) {
  return ((high & 0x7f7f7f7fU) + low) ^ (high & 0x80808080U);
}

// What three sums of products of slices say.
LOCKSTEP_DEVICE inline std::int64_t sum_of(std::int32_t high, std::int32_t low, std::int32_t both) {
  return std::int64_t{4032} * high + std::int64_t{64} * both - std::int64_t{63} * low;
}
// The same where the sum fits 32 bits, if not all that it is made of does.
LOCKSTEP_DEVICE inline std::int32_t small_sum_of(std::int32_t high, std::int32_t low,
                                                 std::int32_t both) {
  return static_cast<std::int32_t>(4032U * static_cast<std::uint32_t>(high) +
                                   64U * static_cast<std::uint32_t>(both) -
                                   63U * static_cast<std::uint32_t>(low));
}

// Slices lie in shared memory as [rows][kDepth] bytes; this is where word `word` (4 bytes of k) of
// a row is. Four words stay together; which four they are depends on the row, so that the lanes of
// a fragment (8 rows, 4 words) read from different banks.
inline constexpr int kRowWords = kDepth / 4;
LOCKSTEP_HD constexpr int word_at(int row, int word) {
  return row * kRowWords + (((word >> 2) ^ (row >> 1) ^ (row >> 3)) & 3) * 4 + (word & 3);
}

// The word `rows` rows further down than `word`, one of word_at; `rows` is a multiple of 16, and
// best a constant.
LOCKSTEP_HD constexpr int further_down(int word, int rows) {
  return (word ^ (rows >> 3 & 3) << 2) + rows * kRowWords;
}
static_assert(further_down(word_at(5, 9), 16) == word_at(21, 9));

constexpr bool fragments_meet_no_bank_twice() {
  for (int first = 0; first < 64; first += 8) {
    for (int four = 0; four < kRowWords; four += 4) {
      std::uint32_t banks = 0;
      for (int lane = 0; lane < kWarp; ++lane)
        banks |= 1U << word_at(first + lane / 4, four + lane % 4) % 32;
      if (banks != 0xffffffffU) return false;
    }
  }
  return true;
}
static_assert(fragments_meet_no_bank_twice());

}  // namespace lockstep::numerics::cuda
