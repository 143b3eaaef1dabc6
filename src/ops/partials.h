// Inside ops: parameters [P, …] and the samples of their subtrees.
#pragma once

#include <functional>

#include "lockstep/ops/ops.h"

namespace lockstep::ops {

// Samples [first_sample, first_sample + samples) belong to partial `index`.
struct Slice {
  std::int64_t index, first_sample, samples;
  // The slice of a parameter [P, …] (its inner dimensions are contiguous).
  const float* data(const Tensor& parameter) const {
    return parameter.const_data_ptr<float>() + index * parameter.stride(0);
  }
};

// Calls body once for all samples if the parameters are one tensor seen P times (stride 0, or P =
// 1), otherwise once for each partial. Undefined parameters do not count.
void for_each_partial(const LaneBlocks& lanes, const Tensors& parameters,
                      const std::function<void(const Slice&)>& body);

// The gradient of a vector added to every row: x [N, …, C] -> [P, C]. Twice differentiable.
Tensor lane_column_sums(const LaneBlocks& lanes, const Tensor& x);

// A parameter [P, C] repeated to every row of its subtree's samples: the transpose of
// lane_column_sums.
Tensor spread_columns(const LaneBlocks& lanes, const Tensor& v, at::IntArrayRef sizes);

}  // namespace lockstep::ops
