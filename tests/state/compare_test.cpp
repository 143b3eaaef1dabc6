#include "lockstep/state/compare.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "lockstep/ops/record.h"

namespace lockstep::state {
namespace {

State of(const std::vector<std::pair<std::string, std::vector<float>>>& tensors) {
  State state;
  for (const auto& [name, values] : tensors) {
    at::Tensor tensor = ops::empty({static_cast<std::int64_t>(values.size())});
    std::ranges::copy(values, ops::write(tensor));
    state.tensors.push_back({.name = name, .tensor = tensor});
  }
  return state;
}

TEST(Ulps, CountsTheValuesBetween) {
  EXPECT_EQ(ulps(1.0F, 1.0F), 0U);
  EXPECT_EQ(ulps(1.0F, std::nextafter(1.0F, 2.0F)), 1U);
  EXPECT_EQ(ulps(1.0F, 2.0F), std::uint64_t{1} << 23);
  EXPECT_EQ(ulps(0.0F, -0.0F), 1U);
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(ulps(tiny, -tiny), 3U);
}

// A value and the one n places up in the order of all finite values are n apart.
RC_GTEST_PROP(Ulps, ArePlacesInTheOrderOfValues, (std::uint32_t bits, std::uint16_t n)) {
  const auto magnitude = bits & 0x7fffffffU;
  RC_PRE(magnitude + n < 0x7f800000U);
  const float a = std::bit_cast<float>(magnitude), b = std::bit_cast<float>(magnitude + n);
  RC_ASSERT(ulps(a, b) == n);
  RC_ASSERT(ulps(b, a) == n);
  RC_ASSERT(ulps(-a, -b) == n);
  RC_ASSERT(ulps(a, -b) == std::uint64_t{2} * magnitude + n + 1);
}

TEST(CompareValues, CountsByBits) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a = {1, 2, 3, nan, 0.0F, nan},
                           b = {1, std::nextafter(2.0F, 3.0F), 3.5F, nan, -0.0F, 1};
  const ValueDifference found = compare(a, b);
  EXPECT_EQ(found.elements, 6);
  EXPECT_EQ(found.different, 4);
  EXPECT_EQ(found.first, 1);
  EXPECT_EQ(found.a, 2.0F);
  EXPECT_EQ(found.b, std::nextafter(2.0F, 3.0F));
  EXPECT_EQ(found.not_finite, 1);
  EXPECT_EQ(found.largest, std::uint64_t{1} << 21);
  EXPECT_EQ(found.histogram[0], 2);
  EXPECT_EQ(found.histogram[21], 1);
}

TEST(CompareStates, NamesTensorsInOrder) {
  const State a = of({{"x", {1, 2}}, {"y", {3}}, {"z", {4}}, {"only a", {1}}}),
              b = of({{"z", {5}}, {"x", {1, 2}}, {"y", {3, 3}}, {"only b", {1}}});
  const auto found = compare(a, b);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].tensor, "y");
  EXPECT_EQ(found[0].what, "shapes 1 and 2");
  EXPECT_EQ(found[1].tensor, "z");
  EXPECT_EQ(found[1].what, "values");
  EXPECT_EQ(found[1].values.different, 1);
  EXPECT_EQ(found[2].what, "missing in the second");
  EXPECT_EQ(found[3].tensor, "only b");
  EXPECT_TRUE(compare(a, a).empty());
}

}  // namespace
}  // namespace lockstep::state
