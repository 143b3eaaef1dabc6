// When a classifier is right.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace lockstep::objective {

// How many rows of logits [N, classes] are largest at their class alone, by rows of a condition
// (1 at the class, else 0). A tie is no answer: it is not right.
std::int64_t count_correct(const at::Tensor& logits, const at::Tensor& condition);

}  // namespace lockstep::objective
