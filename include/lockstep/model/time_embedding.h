// Sinusoidal time embedding (Vaswani et al. 2017; Ho et al. 2020).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lockstep::model {

// t [N] -> [N, width], width even, half = width/2: [cos(t f_0) … cos(t f_{half-1}), sin(t f_0) …],
// f_i = exp(-log(10000) * i / half). In double with host functions, rounded once. |t| <= 2^20.
// Bits: t, width.
at::Tensor time_embedding(const at::Tensor& t, std::int64_t width);

}  // namespace lockstep::model
