// What networks are told of a sample's class: model/network.h says how.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lockstep::objective {

// A row a label, [N, classes], all 0 for kNoClass. Undefined where there are no classes. Bits:
// arguments.
inline constexpr std::int64_t kNoClass = -1;
at::Tensor condition_of(const std::vector<std::int64_t>& labels, std::int64_t classes);
// The same values in the host's memory.
std::vector<float> condition_rows(const std::vector<std::int64_t>& labels, std::int64_t classes);

}  // namespace lockstep::objective
