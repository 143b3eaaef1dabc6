#include "lockstep/state/compare.h"

#include <algorithm>
#include <bit>

#include "lockstep/core/error.h"
#include "lockstep/core/finite.h"
#include "lockstep/core/list.h"
#include "lockstep/ops/device.h"

namespace lockstep::state {
namespace {

// Finite values in their order, without gaps: the negative ones below -1, +0 at 0.
std::int64_t place(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto magnitude = static_cast<std::int64_t>(bits & 0x7fffffffU);
  return bits >> 31 == 0 ? magnitude : -1 - magnitude;
}

const Named* find(const State& state, const std::string& name) {
  const auto found = std::ranges::find(state.tensors, name, &Named::name);
  return found == state.tensors.end() ? nullptr : &*found;
}

}  // namespace

std::uint64_t ulps(float a, float b) {
  const std::int64_t distance = place(a) - place(b);
  return static_cast<std::uint64_t>(distance < 0 ? -distance : distance);
}

ValueDifference compare(std::span<const float> a, std::span<const float> b) {
  LOCKSTEP_ASSERT(a.size() == b.size());
  ValueDifference result;
  result.elements = static_cast<std::int64_t>(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i])) continue;
    if (result.different++ == 0) {
      result.first = static_cast<std::int64_t>(i);
      result.a = a[i];
      result.b = b[i];
    }
    if (!is_finite(a[i]) || !is_finite(b[i])) {
      ++result.not_finite;
      continue;
    }
    const std::uint64_t distance = ulps(a[i], b[i]);
    result.largest = std::max(result.largest, distance);
    ++result.histogram[static_cast<std::size_t>(std::bit_width(distance)) - 1];
  }
  return result;
}

std::vector<TensorDifference> compare(const State& a, const State& b) {
  std::vector<TensorDifference> result;
  for (const Named& mine : a.tensors) {
    const Named* const theirs = find(b, mine.name);
    if (theirs == nullptr) {
      result.push_back({mine.name, "missing in the second", {}});
    } else if (mine.shape() != theirs->shape()) {
      result.push_back(
          {mine.name,
           "shapes " + shape_text(mine.shape()) + " and " + shape_text(theirs->shape()),
           {}});
    } else if (const ValueDifference values =
                   compare(ops::HostView(mine.tensor).copy(), ops::HostView(theirs->tensor).copy());
               values.different > 0) {
      result.push_back({mine.name, "values", values});
    }
  }
  for (const Named& theirs : b.tensors)
    if (find(a, theirs.name) == nullptr)
      result.push_back({theirs.name, "missing in the first", {}});
  return result;
}

}  // namespace lockstep::state
