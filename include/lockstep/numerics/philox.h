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

// Element 0 of a uniform draw.
float draw_uniform(const Stream& stream, std::uint64_t position);

// An integer in [0, bound) without bias worth speaking of: (u * bound) >> 32 of word `word` (0..3)
// of block 0. 1 <= bound <= 2^32-1.
std::uint32_t draw_below(const Stream& stream, std::uint64_t position, int word,
                         std::uint32_t bound);

// Error(kUsage) for more elements than a draw has, 2^34. Every device's fills begin with it.
void require_drawable(std::int64_t n);

class Draws {
 public:
  // Elements [0, n) at `position`: bits, uniforms; normals of `rows` positions from `first` on,
  // [rows][n]. Bits: stream, position, element index.
  virtual void fill_bits(const Stream& stream, std::uint64_t position, std::int64_t n,
                         std::uint32_t* out) = 0;
  virtual void fill_uniform(const Stream& stream, std::uint64_t position, std::int64_t n,
                            float* out) = 0;
  virtual void fill_normal(const Stream& stream, std::uint64_t first, std::int64_t rows,
                           std::int64_t n, float* out) = 0;
  // Masks of dropout (Srivastava et al. 2014): +0 where the uniform is below `rate`, elsewhere
  // `kept`. As normals, [rows][n].
  virtual void fill_mask(const Stream& stream, std::uint64_t first, std::int64_t rows,
                         std::int64_t n, float rate, float kept, float* out) = 0;

 protected:
  ~Draws() = default;
};

}  // namespace lockstep::numerics
