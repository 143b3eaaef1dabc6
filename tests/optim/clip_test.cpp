#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <limits>

#include "lockstep/numerics/reduce.h"
#include "lockstep/optim/optimizer.h"

namespace lockstep::optim {
namespace {

at::Tensor of(const std::vector<float>& values) {
  at::Tensor x = at::empty({static_cast<std::int64_t>(values.size())}, at::kFloat);
  std::copy(values.begin(), values.end(), x.mutable_data_ptr<float>());
  return x;
}

// The norm, and clipped gradients.
float clip(float limit, const std::vector<at::Tensor>& gradients) {
  const at::Tensor squares = tile_squares(gradients);
  clip_by_global_norm(limit, squares, gradients);
  return numerics::norm_of(
      {squares.const_data_ptr<float>(), static_cast<std::size_t>(squares.numel())});
}

float value(const at::Tensor& x, std::int64_t i) {
  return x.const_data_ptr<float>()[i];
}

TEST(Clip, ScalesToTheGlobalNormOfAllTensors) {
  const std::vector<at::Tensor> g = {of({3.0F}), of({0.0F, 4.0F})};
  EXPECT_EQ(clip(2.5F, g), 5.0F);
  EXPECT_EQ(value(g[0], 0), 1.5F);
  EXPECT_EQ(value(g[1], 1), 2.0F);
}

TEST(Clip, LeavesGradientsWithinTheNormAlone) {
  const std::vector<at::Tensor> g = {of({3.0F, 4.0F})};
  EXPECT_EQ(clip(5.0F, g), 5.0F);
  EXPECT_EQ(value(g[0], 0), 3.0F);
}

TEST(Clip, OnlyMeasuresWhenOff) {
  const std::vector<at::Tensor> g = {of({3.0F, 4.0F})};
  EXPECT_EQ(clip(0.0F, g), 5.0F);
  EXPECT_EQ(value(g[0], 1), 4.0F);
}

TEST(Clip, NeverHidesANormThatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<at::Tensor> huge = {of({3e30F, 1.0F})};
  EXPECT_EQ(clip(1.0F, huge), infinity);
  EXPECT_EQ(value(huge[0], 0), 3e30F);
  EXPECT_EQ(value(huge[0], 1), 1.0F);
  const std::vector<at::Tensor> broken = {of({std::numeric_limits<float>::quiet_NaN(), 1.0F})};
  const float norm = clip(1.0F, broken);
  EXPECT_NE(norm, norm);
  EXPECT_EQ(value(broken[0], 1), 1.0F);
}

TEST(Clip, ByValueBoundsEveryElementAndLeavesANaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<at::Tensor> g = {
      of({3.0F, -0.5F, -0.0F}), of({-7.0F, infinity, std::numeric_limits<float>::quiet_NaN()})};
  clip_by_value(0.0F, g);
  EXPECT_EQ(value(g[0], 0), 3.0F);
  clip_by_value(0.75F, g);
  EXPECT_EQ(value(g[0], 0), 0.75F);
  EXPECT_EQ(value(g[0], 1), -0.5F);
  EXPECT_EQ(1.0F / value(g[0], 2), -infinity);  // still -0
  EXPECT_EQ(value(g[1], 0), -0.75F);
  EXPECT_EQ(value(g[1], 1), 0.75F);
  EXPECT_NE(value(g[1], 2), value(g[1], 2));
}

TEST(Clip, CountsEveryTile) {
  const std::vector<at::Tensor> g = {of(std::vector<float>(10000, 1.0F)),
                                     of(std::vector<float>(6384, 1.0F))};
  EXPECT_EQ(clip(0.0F, g),
            128.0F);  // whole numbers: exact in any order
}

}  // namespace
}  // namespace lockstep::optim
