// Kernels that take many tensors at once.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "numerics/device.h"
#include "numerics/reference.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

RC_GTEST_PROP(Tensors, AreScaledAndClampedAsEachIs, ()) {
  const std::vector<std::size_t> sizes = {5, 0, 4096, 4097, 900};
  const Floats x = random_floats(9098);
  const float factor = 0.3F;
  Floats scaled, clamped;
  for (const float v : x) {
    scaled.push_back(factor * v);
    clamped.push_back(v < -1.0F ? -1.0F : v > 0.5F ? 0.5F : v);
  }
  const auto in_place = [&](const auto& change) {
    Floats out = x;
    std::vector<std::span<float>> tensors;
    std::size_t first = 0;
    for (const std::size_t n : sizes) {
      tensors.push_back(std::span(out).subspan(first, n));
      first += n;
    }
    change(tensors);
    return out;
  };
  expect_everywhere(scaled, [&] {
    return in_place([&](const auto& tensors) { device().scale_all(factor, tensors); });
  });
  expect_everywhere(clamped, [&] {
    return in_place([&](const auto& tensors) { device().clamp_all(-1.0F, 0.5F, tensors); });
  });
}

TEST(Tensors, FirstNonFiniteFindsOneBadValueAnywhere) {
  const std::vector<float> fine(3, 1);
  std::vector<float> x(40000, 0x1.fffffep127f);
  const std::vector<std::span<const float>> both{fine, x};
  with_every_isa([&] {
    EXPECT_EQ(device().first_non_finite(both), 2U);
    for (const std::size_t at : {std::size_t{0}, std::size_t{17}, std::size_t{39999}}) {
      for (const float bad :
           {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
            std::numeric_limits<float>::quiet_NaN()}) {
        x[at] = bad;
        EXPECT_EQ(device().first_non_finite(both), 1U);
        x[at] = 1;
      }
    }
  });
}

TEST(Tensors, FirstNonFiniteNamesTheFirstOfSeveral) {
  const float bad = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> fine(70000, -0.0f), last = {1, bad};
  std::vector<float> early(70000, 1);
  early.back() = bad;
  with_every_isa([&] {
    for (const int count : {1, 2, 7}) {
      use_threads(count);
      EXPECT_EQ(device().first_non_finite({}), 0U);
      EXPECT_EQ(device().first_non_finite(std::vector<std::span<const float>>{{}, fine}), 2U);
      EXPECT_EQ(device().first_non_finite(std::vector<std::span<const float>>{fine, early, last}),
                1U);
      EXPECT_EQ(device().first_non_finite(std::vector<std::span<const float>>{last, early}), 0U);
      use_threads(1);
    }
  });
}

}  // namespace
}  // namespace lockstep::numerics
