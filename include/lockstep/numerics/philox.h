// Draws of many random numbers (spec/philox.h says which).
//
//   uniform: (u >> 8) * 2^-24, in [0, 1)
//   normal:  Box-Muller on the pair (u0,u1) and (u2,u3) of a block, all binary32, functions of
//            spec/functions.h: r = sqrt(-2 log(1 - uniform(u_even))), a = uniform(u_odd) * 2pi
//            (rounded to binary32, product rounded once); elements 2i: r cos(a), 2i+1: r sin(a)
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/philox.h"

namespace lockstep::numerics {

// Elements [0, n) at `position`: bits, uniforms, normals. Bits: stream, position, element index.
void fill_bits(const Stream& stream, std::uint64_t position, std::int64_t n, std::uint32_t* out);
void fill_uniform(const Stream& stream, std::uint64_t position, std::int64_t n, float* out);
void fill_normal(const Stream& stream, std::uint64_t position, std::int64_t n, float* out);

// An integer in [0, bound) without bias worth speaking of: (u * bound) >> 32 of word `word` (0..3)
// of block 0. 1 <= bound <= 2^32-1.
std::uint32_t draw_below(const Stream& stream, std::uint64_t position, int word,
                         std::uint32_t bound);

}  // namespace lockstep::numerics
