// The inputs of the conformance cases: made from integers alone, so that any language makes the
// same bits (docs/conformance.md tells it in words).
//
//   word(seed, i)  the upper 32 bits of SplitMix64's output function (Steele, Lea, Flood 2014)
//                  at seed * 2^32 + i
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::conformance {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

enum class Make {
  kBits,      // any float: its bits are word(i), infinities and NaNs among them
  kUnit,      // u = (word >> 8) * 2^-23 - 1, in [-1, 1)
  kPositive,  // (word >> 8) * 2^-24, in [0, 1)
  kWide,      // u * 2^(word mod 256 mod 33 - 16)
  kSparse,    // wide, but a zero where word mod 8 = 0: -0 if bit 3 is set, else +0
  kSpecials   // the table of special values, over and over; see `each`
};
const char* name(Make make);

std::uint32_t word(std::uint32_t seed, std::uint32_t i);
float element(Make make, std::uint32_t seed, std::uint32_t i);
// (the upper 53 bits of word(2i), word(2i+1)) * 2^-52 - 1, times scale (a power of two)
double element64(double scale, std::uint32_t seed, std::uint32_t i);

// Zeros, subnormals, the ends of ranges, ties, infinities, NaNs, as bits.
const std::vector<std::uint32_t>& specials();

}  // namespace lockstep::conformance
