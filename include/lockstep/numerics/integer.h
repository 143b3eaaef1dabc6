// Products of values rounded to integers of 12 bits, a group of values sharing one exponent: exact
// sums, rounded once (docs/numerics.md, Integer products; spec/integer.h). For layers that are wide
// enough, see integer_products.
//
//   q(x)   = x * 2^(10 - E), to the nearest integer (ties to even), within +-2047
//   result = (sum of q(u[k]) * q(v[k])) * 2^(E_u + E_v - 20), one rounding to binary32
//
// A result that the exponent of a group with a NaN or an infinity enters is NaN. A linear layer
// with `rows` rows a sample is a convolution of 1x1 taps, h = rows, w = 1. Block formats with a
// shared exponent: Drumond et al. 2018, arXiv 1804.01526. Bits: operands and shape only.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/integer.h"
#include "lockstep/numerics/spec/shapes.h"
#include "lockstep/numerics/tree.h"

namespace lockstep::numerics {

class IntegerProducts {
 public:
  // x[groups][rows][c]: of each group its exponent and its values' integers, q[groups][rows][c], as
  // the products of this device want them. How they lie depends on c: products take them with the
  // same last dimension, also some of the rows.
  virtual void round_groups(std::int64_t groups, std::int64_t rows, std::int64_t c,
                            Sides<const float> x, std::int16_t* q, std::int32_t* exponents) = 0;
  // The integers that q[rows][c] stands for, |plain| <= 2047. plain must not be q.
  virtual void plain_integers(std::int64_t rows, std::int64_t c, const std::int16_t* q,
                              std::int16_t* plain) = 0;

  // Operands in the layouts of conv.h: x and dy with one group a sample, w with one.
  virtual void integer_conv2d(const ConvShape& s, const Rounded& x, const Rounded& w,
                              const Added& added, float* y) = 0;
  virtual void integer_conv2d_input_grad(const ConvShape& s, const Rounded& dy, const Rounded& w,
                                         const float* bias, float* dx) = 0;
  // dw[partials][kh][kw][in][out]: each sample's product is rounded; a lane's samples are added in
  // order, its lanes in the tree of each partial.
  virtual void integer_conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes,
                                          const Rounded& x, const Rounded& dy, float* dw) = 0;

 protected:
  ~IntegerProducts() = default;
};

}  // namespace lockstep::numerics
