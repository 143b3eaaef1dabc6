// Group, layer and batch normalisation. Statistics in binary32, two passes:
//
//   group and batch: per channel s_c = blocked chain over the positions (reduce.h)
//   sum  = per group, blocked chain of the s_c of its channels in order
//   mean = sum / count (one division)
//   squares: the same two levels, with d = x - mean rounded and fma(d, d, acc)
//   var  = squares / count
//   rstd = 1 / sqrt(var + eps)
//   xhat = (x - mean) * rstd
//   y    = fma(xhat, gamma, beta), then optionally silu(y)
//
// Backward, with g = dy (through the activation first: dy * silu'(y), y recomputed):
//
//   G, X: per sample and channel, blocked chain of g, and blocked fma chain of g*xhat, over the
//         positions
//   m  = per group, (blocked fma chain over its channels of gamma*G) / count
//   q  = the same of gamma*X
//   dx = (g*gamma - fma(xhat, q, m)) * rstd
//   dgamma from X, dbeta from G: a lane's samples are added in order (the first as it is), then the
//   tree over each partial's lanes
//
// Bits: operands and shape.
#pragma once

#include <cstdint>

#include "lockstep/numerics/spec/moments.h"
#include "lockstep/numerics/spec/shapes.h"
#include "lockstep/numerics/tree.h"

namespace lockstep::numerics {

class Normalisations {
 public:
  // mean, rstd: [n][groups], saved for the backward pass.
  virtual void group_norm(const GroupNormShape& s, Sides<const float> x, const float* gamma,
                          const float* beta, float* y, float* mean, float* rstd) = 0;
  // dx may be null, else it is cut as x is, and lies nowhere else. dgamma, dbeta: [partials][c];
  // both null or neither.
  virtual void group_norm_backward(const GroupNormShape& s, const LaneBlocks& lanes,
                                   Sides<const float> x, const float* gamma, const float* beta,
                                   const float* mean, const float* rstd, const float* dy,
                                   Sides<float> dx, float* dgamma, float* dbeta) = 0;

  // Layer norm over the last dimension: rows of c; a row's sums are plain blocked chains over c, in
  // the backward pass of h = dy*gamma and of h*xhat (fma); m, q and dx as above with h for g*gamma.
  // Without gamma and beta h = dy; the backward pass does not read beta. dgamma, dbeta: blocked
  // chains over a lane's rows in order, then the tree; rows_per_sample says which rows are a
  // sample's. dx may be null; dgamma and dbeta: both null or neither.
  virtual void layer_norm(std::int64_t rows, std::int64_t c, float eps, const float* x,
                          const Affine& affine, float* y, float* mean, float* rstd) = 0;
  virtual void layer_norm_backward(std::int64_t rows, std::int64_t c, const LaneBlocks& lanes,
                                   std::int64_t rows_per_sample, const float* x,
                                   const Affine& affine, const float* mean, const float* rstd,
                                   const float* dy, float* dx, float* dgamma, float* dbeta) = 0;

  // x [samples*rows][c] -> mean, m2: [lanes][c]; blocked chains over the lane's rows, two passes.
  virtual void lane_moments(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c,
                            const float* x, float* mean, float* m2) = 0;
  // rows [lanes][2][c], mean and m2 of every lane, each of `count` values -> mean, m2/count: [c];
  // merge() in the tree.
  virtual void merge_moments(std::int64_t lanes, std::int64_t c, float count, const float* rows,
                             float* mean, float* variance) = 0;
  // y = fma((x - mean[c]) * rstd[c], gamma[c], beta[c])
  virtual void batch_norm_apply(std::int64_t rows, std::int64_t c, const float* x,
                                const float* mean, const float* rstd, const float* gamma,
                                const float* beta, float* y) = 0;
  // Per lane: sum of dy and of dy*xhat over the lane's rows: [lanes][c] each.
  virtual void batch_norm_backward_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c,
                                        const float* x, const float* mean, const float* rstd,
                                        const float* dy, float* sum_dy, float* sum_dy_xhat) = 0;
  // With the sums over *all* lanes: k = gamma*rstd; dx = k * (dy - fma(xhat, sum_dy_xhat/count,
  // sum_dy/count))
  virtual void batch_norm_backward_apply(std::int64_t rows, std::int64_t c, float count,
                                         const float* x, const float* mean, const float* rstd,
                                         const float* gamma, const float* dy, const float* sum_dy,
                                         const float* sum_dy_xhat, float* dx) = 0;

 protected:
  ~Normalisations() = default;
};

}  // namespace lockstep::numerics
