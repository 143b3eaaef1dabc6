// Private: softmax for CUDA (softmax.h), a thread a row.
#pragma once

#include "lockstep/numerics/spec/chain.h"
#include "lockstep/numerics/spec/functions.h"
#include "numerics/cuda/device.h"

namespace lockstep::numerics::cuda {

template <class Gpu>
void Device<Gpu>::softmax(std::int64_t rows, std::int64_t cols, float scale, const float* x,
                          float* y) {
  each(rows, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const float* const row = x + i * cols;
    float* const e = y + i * cols;
    float max = spec::bit_cast<float>(0xff800000U);  // -infinity
    for (std::int64_t j = 0; j < cols; ++j) {
      if (scale * row[j] > max) max = scale * row[j];
    }
    for (std::int64_t j = 0; j < cols; ++j) e[j] = scalar::exp(scale * row[j] - max);
    const float sum = blocked_chain(cols, [&](float acc, std::int64_t j) { return acc + e[j]; });
    for (std::int64_t j = 0; j < cols; ++j) e[j] = e[j] / sum;
  });
}

template <class Gpu>
void Device<Gpu>::softmax_backward(std::int64_t rows, std::int64_t cols, float scale,
                                   const float* y, const float* dy, float* dx) {
  each(rows, [=] LOCKSTEP_DEVICE(std::int64_t i) {
    const float* const p = y + i * cols;
    const float* const g = dy + i * cols;
    const float d =
        blocked_chain(cols, [&](float acc, std::int64_t j) { return spec::fma(p[j], g[j], acc); });
    for (std::int64_t j = 0; j < cols; ++j) dx[i * cols + j] = scale * (p[j] * (g[j] - d));
  });
}

}  // namespace lockstep::numerics::cuda
