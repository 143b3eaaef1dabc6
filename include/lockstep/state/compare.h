// How two sets of tensors differ, in numbers that people reason with: how many elements, and by how
// many ulps (units in the last place: how many binary32 values lie between the two).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lockstep/state/state.h"

namespace lockstep::state {

// Of finite values; +0 and -0 are one ulp apart, so that different bits are never 0 apart.
std::uint64_t ulps(float a, float b);

struct ValueDifference {
  std::int64_t elements = 0;    // compared
  std::int64_t different = 0;   // of them, by their bits
  std::int64_t first = 0;       // element; of `different` ones
  float a = 0, b = 0;           // the values there
  std::uint64_t largest = 0;    // ulps, of finite pairs
  std::int64_t not_finite = 0;  // different pairs with a NaN or infinity
  // Finite pairs that differ by [2^i, 2^(i+1)) ulps.
  std::array<std::int64_t, 33> histogram{};
};
// Both of the same size. Bits: values.
ValueDifference compare(std::span<const float> a, std::span<const float> b);

struct TensorDifference {
  std::string tensor;
  // "values", or what keeps them from being compared: "missing in the first", "missing in the
  // second", "shapes 3 x 4 and 4 x 3".
  std::string what;
  ValueDifference values;
};
// Tensors that differ, in the order of `a`, then those that only `b` has.
std::vector<TensorDifference> compare(const State& a, const State& b);

}  // namespace lockstep::state
