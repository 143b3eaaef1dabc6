// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11). No state: a draw is a
// function of (key, position, block, micro), so it does not matter who draws or how often.
//
//   counter words = (position low, position high, block, micro)   block = element / 4
//   bits of an element: word element mod 4 of its block
#pragma once

#include <cstddef>
#include <cstdint>

#include "lockstep/numerics/spec/host_device.h"

namespace lockstep::numerics {

// std::array, but device code can call it.
template <int kCount>
struct PhiloxWords {
  std::uint32_t word[kCount];

  LOCKSTEP_HD std::uint32_t& operator[](std::size_t i) { return word[i]; }
  LOCKSTEP_HD const std::uint32_t& operator[](std::size_t i) const { return word[i]; }
  LOCKSTEP_HD friend bool operator==(const PhiloxWords& a, const PhiloxWords& b) {
    for (int i = 0; i < kCount; ++i) {
      if (a.word[i] != b.word[i]) return false;
    }
    return true;
  }
};

using PhiloxKey = PhiloxWords<2>;
using PhiloxBlock = PhiloxWords<4>;

struct Stream {
  PhiloxKey key{};          // first 8 bytes (little endian) of SHA-256(seed, stream name)
  std::uint32_t micro = 0;  // micro-step: successive draws of one name at one position
};

LOCKSTEP_HD static inline PhiloxBlock philox(PhiloxKey key, PhiloxBlock counter) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// Elements 4 * block … 4 * block + 3 of a draw.
LOCKSTEP_HD static inline PhiloxBlock block_of(const Stream& stream, std::uint64_t position,
                                               std::uint32_t block) {
  return philox(stream.key, {static_cast<std::uint32_t>(position),
                             static_cast<std::uint32_t>(position >> 32), block, stream.micro});
}

// One element, 0 <= element < 2^34.
LOCKSTEP_HD static inline std::uint32_t bits_of(const Stream& stream, std::uint64_t position,
                                                std::int64_t element) {
  return block_of(stream, position, static_cast<std::uint32_t>(element / 4))[element % 4];
}

// In [0, 1), exact: a multiple of 2^-24.
LOCKSTEP_HD static inline float uniform(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}

// In [0, bound) without bias worth speaking of; bound >= 1.
LOCKSTEP_HD static inline std::uint32_t below(std::uint32_t bits, std::uint32_t bound) {
  return static_cast<std::uint32_t>((std::uint64_t{bits} * bound) >> 32);
}

}  // namespace lockstep::numerics
