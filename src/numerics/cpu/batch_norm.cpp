#include <vector>

#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/lane_sums.h"
#include "numerics/cpu/norm_kernels.h"
#include "numerics/cpu/reduce_kernels.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kRowGrain = 64;

}  // namespace

void Cpu::lane_moments(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c, const float* x,
                       float* mean, float* m2) {
  const ReduceKernels& sums = reduce_kernels(isa());
  const NormKernels& kernels = norm_kernels(isa());
  const std::int64_t lane_rows = lanes.samples_per_lane * rows;
  const auto count = static_cast<float>(lane_rows);
  for_each_lane_chunk(*this, lanes, c, [&](std::int64_t lane, std::int64_t j, std::int64_t width) {
    const float* const columns = x + lane * lane_rows * c + j;
    float* const means = mean + lane * c + j;
    sums.column_sums(lane_rows, width, c, columns, means);
    for (std::int64_t k = 0; k < width; ++k) means[k] = means[k] / count;
    kernels.column_squares(lane_rows, width, c, columns, means, m2 + lane * c + j);
  });
}

void Cpu::merge_moments(std::int64_t lanes, std::int64_t c, float count, const float* rows,
                        float* mean, float* variance) {
  parallel_for(c, kColumnChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      const Moments merged = tree_fold(
          std::int64_t{0}, lanes,
          [&](std::int64_t lane) {
            const float* const at = rows + 2 * lane * c + j;
            return Moments{count, at[0], at[c]};
          },
          merge);
      mean[j] = merged.mean;
      variance[j] = merged.m2 / merged.count;
    }
  });
}

void Cpu::batch_norm_apply(std::int64_t rows, std::int64_t c, const float* x, const float* mean,
                           const float* rstd, const float* gamma, const float* beta, float* y) {
  const NormKernels& kernels = norm_kernels(isa());
  parallel_for(rows, kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels.normalize(Activation::kNone, end - begin, c, x + begin * c, mean, rstd, gamma, beta, c,
                      y + begin * c);
  });
}

void Cpu::batch_norm_backward_sums(const LaneBlocks& lanes, std::int64_t rows, std::int64_t c,
                                   const float* x, const float* mean, const float* rstd,
                                   const float* dy, float* sum_dy, float* sum_dy_xhat) {
  const NormKernels& kernels = norm_kernels(isa());
  const std::int64_t lane_rows = lanes.samples_per_lane * rows;
  for_each_lane_chunk(*this, lanes, c, [&](std::int64_t lane, std::int64_t j, std::int64_t width) {
    const std::int64_t at = lane * lane_rows * c + j;
    kernels.column_gradient_sums(lane_rows, width, c, x + at, mean + j, rstd + j, c, dy + at,
                                 sum_dy + lane * c + j, sum_dy_xhat + lane * c + j);
  });
}

void Cpu::batch_norm_backward_apply(std::int64_t rows, std::int64_t c, float count, const float* x,
                                    const float* mean, const float* rstd, const float* gamma,
                                    const float* dy, const float* sum_dy, const float* sum_dy_xhat,
                                    float* dx) {
  const NormKernels& kernels = norm_kernels(isa());
  std::vector<float> m(static_cast<std::size_t>(c)), q(m);
  for (std::size_t j = 0; j < m.size(); ++j) {
    m[j] = sum_dy[j] / count;
    q[j] = sum_dy_xhat[j] / count;
  }
  parallel_for(rows, kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    kernels.batch_input_gradient(end - begin, c, x + begin * c, mean, rstd, gamma, m.data(),
                                 q.data(), dy + begin * c, dx + begin * c);
  });
}

}  // namespace lockstep::numerics
