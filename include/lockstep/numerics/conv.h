// 2-D convolution (cross-correlation) and its two transposes; NHWC activations, weights
// [kh][kw][in][out]. Transposed convolution is `conv2d_input_grad` (forward), `conv2d` (input
// gradient) and `conv2d_weight_grad` with x and dy exchanged (weight gradient): no kernels of its
// own.
//
//   y[n,oy,ox,co] = blocked chain over (ky,kx,ci), in that order, ci fastest, of
//                   x[n, oy*stride+ky-pad, ox*stride+kx-pad, ci] * w[ky,kx,ci,co], then + bias[co].
//                   A tap outside the image is fma'd as +0 * w (it is not skipped).
//   dx[n,y,x,ci]  = blocked chain over (ky,kx,co), co fastest, of dy[n,oy,ox,co] * w[ky,kx,ci,co]
//                   over the taps with (y+pad-ky) and (x+pad-kx) divisible by stride (others are
//                   not part of the chain); taps whose output position is outside are fma'd as +0 *
//                   w. No such tap at all: +0.
//   dw[ky,kx,ci,co] = inside a lane, blocked chain over (n,oy,ox) in order of x[…] *
//   dy[n,oy,ox,co],
//                   taps outside fma'd as +0 * dy; then the tree over the lanes of each partial.
// Blocks are of kBlock elements of the flattened chain (gemm.h). Bits: operands and shape only.
#pragma once

#include <cstdint>

#include "lockstep/numerics/gemm.h"

namespace lockstep::numerics {

struct ConvShape {
  std::int64_t n = 0;                 // samples
  std::int64_t h = 0, w = 0, in = 0;  // the image side
  std::int64_t out = 0;               // channels of y
  std::int64_t kh = 1, kw = 1, stride = 1, pad = 0;

  std::int64_t out_h() const { return (h + 2 * pad - kh) / stride + 1; }
  std::int64_t out_w() const { return (w + 2 * pad - kw) / stride + 1; }
};

void conv2d(const ConvShape& s, const float* x, const float* w, const float* bias, float* y);
void conv2d_input_grad(const ConvShape& s, const float* dy, const float* w, const float* bias,
                       float* dx);  // bias[in] or null (transposed convolution)
void conv2d_weight_grad(const ConvShape& s, const LaneBlocks& lanes, const float* x,
                        const float* dy, float* dw);  // dw: [partials][kh][kw][in][out]

}  // namespace lockstep::numerics
