// 2-D convolution (cross-correlation) and its two transposes; NHWC activations, weights
// [kh][kw][in][out]. Transposed convolution is `conv2d_input_grad` (forward), `conv2d` (input
// gradient) and `conv2d_weight_grad` with x and dy exchanged (weight gradient): no kernels of its
// own.
//
//   y[n,oy,ox,co] = blocked chain over (ky,kx,ci), in that order, ci fastest, of
//                   x[n, oy*stride+ky-pad, ox*stride+kx-pad, ci] * w[ky,kx,ci,co], then what is
//                   added. A tap outside the image is fma'd as +0 * w (it is not skipped).
//   dx[n,y,x,ci]  = blocked chain over (ky,kx,co), co fastest, of dy[n,oy,ox,co] * w[ky,kx,ci,co]
//                   over the taps with (y+pad-ky) and (x+pad-kx) divisible by stride (others are
//                   not part of the chain); taps whose output position is outside are fma'd as
//                   +0 * w. No such tap at all: +0.
//   dw[ky,kx,ci,co] = inside a lane, blocked chain over (n,oy,ox), in that order, of
//                   x[…] * dy[n,oy,ox,co], taps outside fma'd as +0 * dy; then the tree over the
//                   lanes of each partial.
//
// Blocks are of kBlock elements of the flattened chain (gemm.h). Bits: operands and shape only.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/shapes.h"
#include "lockstep/numerics/tree.h"

namespace lockstep::numerics {

class Convolutions {
 public:
  virtual void conv2d(const ConvShape& s, const float* x, const float* w, const Added& added,
                      float* y) = 0;
  virtual void conv2d_input_grad(const ConvShape& s, const float* dy, const float* w,
                                 const float* bias,
                                 float* dx) = 0;  // bias[in] or null (transposed convolution)
  virtual void conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes, const float* x,
                                  const float* dy,
                                  float* dw) = 0;  // dw: [partials][kh][kw][in][out]

 protected:
  ~Convolutions() = default;
};

}  // namespace lockstep::numerics
