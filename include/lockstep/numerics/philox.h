// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11). No state: a draw is a
// function of (key, position, block, micro), so it does not matter who draws or how often.
//
//   counter words = (position low, position high, block, micro)   block = element / 4
//   uniform: (u >> 8) * 2^-24, in [0, 1)
//   normal:  Box-Muller on the pair (u0,u1) and (u2,u3) of a block, all binary32, functions of
//            scalar.h: r = sqrt(-2 log(1 - uniform(u_even))), a = uniform(u_odd) * 2pi (rounded to
//            binary32, product rounded once); elements 2i: r cos(a), 2i+1: r sin(a)
#pragma once

#include <array>
#include <cstdint>

namespace lockstep::numerics {

using PhiloxKey = std::array<std::uint32_t, 2>;
using PhiloxBlock = std::array<std::uint32_t, 4>;

struct Stream {
  PhiloxKey key{};          // first 8 bytes (little endian) of SHA-256(seed, stream name)
  std::uint32_t micro = 0;  // micro-step: successive draws of one name at one position
};

PhiloxBlock philox(PhiloxKey key, PhiloxBlock counter);

// An integer in [0, bound) without bias worth speaking of: (u * bound) >> 32 of word `word` (0..3)
// of block 0. 1 <= bound <= 2^32-1.
std::uint32_t draw_below(const Stream& stream, std::uint64_t position, int word,
                         std::uint32_t bound);

class Draws {
 public:
  // Elements [0, n) at `position`: bits, uniforms; normals of `rows` positions from `first` on,
  // [rows][n]. n <= 2^34 or Error(kUsage). Bits: stream, position, element index.
  virtual void fill_bits(const Stream& stream, std::uint64_t position, std::int64_t n,
                         std::uint32_t* out) = 0;
  virtual void fill_uniform(const Stream& stream, std::uint64_t position, std::int64_t n,
                            float* out) = 0;
  virtual void fill_normal(const Stream& stream, std::uint64_t first, std::int64_t rows,
                           std::int64_t n, float* out) = 0;

 protected:
  ~Draws() = default;
};

}  // namespace lockstep::numerics
