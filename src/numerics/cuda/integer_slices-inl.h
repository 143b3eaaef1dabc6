// Private: integers of 12 bits as slices of int8, which tensor cores multiply.
//
//   q = 64 h + l,  h (-32..32), l (-32..31), s = h + l (-63..62)
//   q q' = 4096 hh' + 64 (hl' + lh') + ll' = 4032 hh' + 64 ss' - 63 ll'
//
// So three products of slices make one of integers (Karatsuba and Ofman 1962), not four. Slices are
// kept twice as large, as even bytes: what one byte's sum carries into the next one meets a bit
// that is 0. Sums of their products are exact in int32 as long as `kExactDepth` says.
#pragma once

#include "lockstep/numerics/spec/integer.h"
#include "numerics/cuda/thread.h"

namespace lockstep::numerics::cuda {

inline constexpr int kDepth = 64;  // of k at a time in shared memory
inline constexpr std::int64_t kExactDepth = std::int64_t{1} << 17;
static_assert(kExactDepth % kDepth == 0);
static_assert((spec::kLargestQ + 32) >> 6 == 32 && 126 * 126 * kExactDepth < std::int64_t{1} << 31);

// An integer's two slices: the lower byte is 2 l, the upper one 2 h.
LOCKSTEP_HD constexpr std::uint16_t pair_of(std::int32_t q) {
  const std::int32_t high = (q + 32) >> 6, low = q - high * 64;
  return static_cast<std::uint16_t>((high * 2 & 0xff) << 8 | (low * 2 & 0xff));
}
LOCKSTEP_HD constexpr std::int16_t integer_of(std::uint16_t pair) {
  const auto high = static_cast<std::int8_t>(pair >> 8), low = static_cast<std::int8_t>(pair);
  return static_cast<std::int16_t>(high * 32 + low / 2);
}
static_assert(integer_of(pair_of(-2047)) == -2047 && integer_of(pair_of(2047)) == 2047 &&
              pair_of(0) == 0 && pair_of(-33) == 0xfe3e);

// Integers are kept as pairs, 16 bits each. Where channels are a multiple of kApart, their slices
// lie apart: of kApart integers, which 32 aligned bytes hold, first the lower ones, then the higher
// ones, so that tensor cores can have them as they lie. Some of the rows lie as all of them do.
inline constexpr int kApart = 16;

// Of q[rows][c].
inline bool slices_lie_apart(const std::int16_t* q, std::int64_t c) {
  return c % kApart == 0 && reinterpret_cast<std::uintptr_t>(q) % 32 == 0;
}
// Where the lower slice is of an integer whose pair would lie at `place`; the higher one is kApart
// bytes further.
template <class Byte>
LOCKSTEP_HD inline Byte* low_of(Byte* place) {
  return place - reinterpret_cast<std::uintptr_t>(place) % 32 / 2;
}
LOCKSTEP_HD inline std::uint16_t pair_at(const std::int16_t* place, bool apart) {
  if (!apart) return static_cast<std::uint16_t>(*place);
  const auto* const low = low_of(reinterpret_cast<const std::uint8_t*>(place));
  return static_cast<std::uint16_t>(low[0] | low[kApart] << 8);
}

// Four values each, a byte a value.
struct Slices {
  std::uint32_t high, low, both;
};

LOCKSTEP_DEVICE inline Slices slices_of(std::uint32_t high, std::uint32_t low) {
  return {high, low, (high + low) & 0xfefefefeU};
}

// What three sums of products of slices say.
LOCKSTEP_DEVICE inline std::int64_t sum_of(std::int32_t high, std::int32_t low, std::int32_t both) {
  return std::int64_t{1008} * high + std::int64_t{16} * both - std::int64_t{63} * (low >> 2);
}
// The same where the sum fits 32 bits, if not all that it is made of does.
LOCKSTEP_DEVICE inline std::int32_t small_sum_of(std::int32_t high, std::int32_t low,
                                                 std::int32_t both) {
  return static_cast<std::int32_t>(1008U * static_cast<std::uint32_t>(high) +
                                   16U * static_cast<std::uint32_t>(both) -
                                   63U * static_cast<std::uint32_t>(low >> 2));
}

}  // namespace lockstep::numerics::cuda
