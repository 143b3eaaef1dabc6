// Kernels that take many tensors at once.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "numerics/device.h"
#include "numerics/reference.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

// Tensors of these values, changed in place, one behind the other.
Floats in_place(const Floats& x, const std::function<void(std::span<std::span<float>>)>& change) {
  Floats out = x;
  std::vector<std::span<float>> tensors;
  std::size_t first = 0;
  for (const std::size_t n :
       {std::size_t{5}, std::size_t{0}, std::size_t{4096}, std::size_t{4097}, x.size() - 8198}) {
    tensors.push_back(std::span(out).subspan(first, n));
    first += n;
  }
  change(tensors);
  return out;
}

RC_GTEST_PROP(Tensors, AreClampedAsEachIs, ()) {
  const Floats x = random_floats(9098);
  Floats clamped;
  for (const float v : x) clamped.push_back(v < -1.0F ? -1.0F : v > 0.5F ? 0.5F : v);
  expect_everywhere(clamped, [&] {
    return in_place(x, [](auto tensors) { device().clamp_all(-1.0F, 0.5F, tensors); });
  });
}

// By the page's tree, not by the header's.
float norm_of(const Floats& squares) {
  if (squares.empty()) return 0;
  return std::sqrt(tree(0, std::ssize(squares),
                        [&](std::int64_t i) { return squares[static_cast<std::size_t>(i)]; }));
}

RC_GTEST_PROP(Tensors, AreClippedByTheNormOfAllSquares, ()) {
  const Floats x = random_floats(9098);
  const auto count = *rc::gen::inRange<std::size_t>(0, 1200);
  Floats squares;
  for (const float v : random_floats(static_cast<std::int64_t>(count))) squares.push_back(v * v);
  const float norm = norm_of(squares), limit = norm * *rc::gen::element(0.3F, 1.0F, 1.5F, 1e-30F);
  Floats clipped = x;
  if (norm > limit)
    for (float& v : clipped) v = limit / norm * v;
  expect_everywhere(clipped, [&] {
    return in_place(x, [&](auto tensors) {
      device().clip_all(limit, std::ssize(squares), squares.data(), tensors);
    });
  });
}

TEST(Tensors, AreNotClippedByANormThatIsNotFinite) {
  const Floats x(9000, 2.0F);
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const Floats squares = {1, bad, 4};
    with_every_isa([&] {
      const Floats kept =
          in_place(x, [&](auto tensors) { device().clip_all(1, 3, squares.data(), tensors); });
      EXPECT_EQ(first_difference(kept, x), -1);
    });
  }
}

TEST(Tensors, FirstNonFiniteFindsOneBadValueAnywhere) {
  const std::vector<float> fine(3, 1);
  std::vector<float> x(40000, 0x1.fffffep127f);
  const std::vector<std::span<const float>> both{fine, x};
  const std::vector<float> all_bad(9000, std::numeric_limits<float>::infinity());
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
    EXPECT_EQ(device().first_non_finite(std::vector<std::span<const float>>{fine, all_bad}), 1U);
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
