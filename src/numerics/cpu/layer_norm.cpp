#include <algorithm>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/lane_sums.h"
#include "numerics/cpu/layer_norm_kernels.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kRows =
    64;  // rows a kernel call: several vectors of them, still in the cache

// body(first, count, gamma, beta): the rows of [begin, end) in pieces that share gamma and beta.
template <class Body>
void for_each_piece(std::int64_t begin, std::int64_t end, std::int64_t c, const Affine& affine,
                    const Body& body) {
  const auto from = [&](const float* data, std::int64_t number) {
    return data == nullptr ? nullptr : data + number * c;
  };
  for (std::int64_t i = begin; i < end;) {
    const std::int64_t number = affine.rows > 0 ? i / affine.rows : 0,
                       last = affine.rows > 0 ? std::min(end, (number + 1) * affine.rows) : end,
                       count = std::min(kRows, last - i);
    body(i, count, from(affine.gamma, number), from(affine.beta, number));
    i += count;
  }
}

}  // namespace

void Cpu::layer_norm(std::int64_t rows, std::int64_t c, float eps, const float* x,
                     const Affine& affine, float* y, float* mean, float* rstd) {
  const LayerNormKernels& kernels = layer_norm_kernels(isa());
  parallel_for(rows, kRows, [&](std::int64_t begin, std::int64_t end) {
    for_each_piece(begin, end, c, affine,
                   [&](std::int64_t i, std::int64_t count, const float* gamma, const float* beta) {
                     kernels.forward(count, c, eps, x + i * c, gamma, beta, y + i * c, mean + i,
                                     rstd + i);
                   });
  });
}

void Cpu::layer_norm_backward(std::int64_t rows, std::int64_t c, const LaneBlocks& lanes,
                              std::int64_t rows_per_sample, const float* x, const Affine& affine,
                              const float* mean, const float* rstd, const float* dy, float* dx,
                              float* dgamma, float* dbeta) {
  LOCKSTEP_ASSERT((dgamma == nullptr) == (dbeta == nullptr), "dgamma and dbeta go together");
  const LayerNormKernels& kernels = layer_norm_kernels(isa());
  if (dx != nullptr) {
    parallel_for(rows, kRows, [&](std::int64_t begin, std::int64_t end) {
      std::vector<float> scratch(static_cast<std::size_t>(kRows * (c + 2)));
      for_each_piece(begin, end, c, affine,
                     [&](std::int64_t i, std::int64_t count, const float* gamma, const float*) {
                       kernels.backward(count, c, x + i * c, gamma, mean + i, rstd + i, dy + i * c,
                                        dx + i * c, scratch.data());
                     });
    });
  }
  if (dgamma == nullptr) return;
  LOCKSTEP_ASSERT(lanes.samples() * rows_per_sample == rows, "lanes do not cover the rows");
  const std::int64_t lane_rows = lanes.samples_per_lane * rows_per_sample;
  std::vector<float> sum_g(static_cast<std::size_t>(lanes.lane_count() * c)), sum_g_xhat(sum_g);
  for_each_lane_chunk(*this, lanes, c, [&](std::int64_t lane, std::int64_t j, std::int64_t width) {
    const std::int64_t row = lane * lane_rows;
    kernels.column_gradient_sums(lane_rows, width, c, x + row * c + j, mean + row, rstd + row,
                                 dy + row * c + j, sum_g.data() + lane * c + j,
                                 sum_g_xhat.data() + lane * c + j);
  });
  tree_over_lanes(*this, lanes, c, sum_g_xhat.data(), dgamma);
  tree_over_lanes(*this, lanes, c, sum_g.data(), dbeta);
}

}  // namespace lockstep::numerics
