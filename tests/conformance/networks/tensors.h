// LibTorch's tensors as inputs and outputs of cases, and the groups of cases of docs/networks.json.
#pragma once

#include <algorithm>
#include <bit>

#include "conformance/document.h"
#include "lockstep/ops/record.h"

namespace lockstep::conformance {

using at::Tensor;

inline Tensor tensor_of(const Floats& values, const Shape& shape) {
  Tensor x = ops::empty(shape);
  std::copy(values.begin(), values.end(), ops::write(x));
  return x;
}

inline Tensor input(Case& c, const std::string& key, Make make, const Shape& shape) {
  return tensor_of(c.input(key, make, shape), shape);
}

inline Floats values_of(const Tensor& x_in) {
  const Tensor x = ops::bare(x_in);
  return Floats(ops::read(x), ops::read(x) + x.numel());
}

inline void output(Case& c, const std::string& key, const Tensor& x) {
  c.output(key, values_of(x));
}

inline Tensor literal(Case& c, const std::string& key, const Floats& values, const Shape& shape) {
  std::vector<std::uint32_t> bits;
  for (const float x : values) bits.push_back(std::bit_cast<std::uint32_t>(x));
  return tensor_of(c.literal(key, bits, shape), shape);
}

void add_value_cases(Json& cases);
void add_training_cases(Json& cases);
void add_state_cases(Json& cases);

}  // namespace lockstep::conformance
