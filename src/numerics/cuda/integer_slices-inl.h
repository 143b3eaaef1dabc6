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

// An integer is kept as its slices, l in the lower byte and h in the upper one.
LOCKSTEP_HD constexpr std::int16_t kept(std::int32_t q) {
  return static_cast<std::int16_t>((q >> 6) * 256 + (q & 63));
}
LOCKSTEP_HD constexpr std::int16_t plain(std::int16_t kept) {
  return static_cast<std::int16_t>((kept >> 8) * 64 + (kept & 255));
}
static_assert(plain(kept(-2047)) == -2047 && kept(0) == 0 && kept(-1) == -256 + 63);

// Four values each, a byte a value.
struct Slices {
  std::uint32_t high, low, both;
};

// high + low, byte by byte: bytes without their highest bit cannot carry into the next.
LOCKSTEP_DEVICE inline std::uint32_t sums_of(std::uint32_t high, std::uint32_t low) {
  return ((high & 0x7f7f7f7fU) + low) ^ (high & 0x80808080U);
}

// Two values in each word, as they are kept. Bytes come out in another order, for every operand the
// same: a sum has no order.
template <class Thread>
LOCKSTEP_DEVICE inline Slices slices_of(Thread& t, std::uint32_t first, std::uint32_t second) {
  const std::uint32_t high = t.template bytes<0x7531>(first, second);
  const std::uint32_t low = t.template bytes<0x6420>(first, second);
  return {high, low, sums_of(high, low)};
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

}  // namespace lockstep::numerics::cuda
