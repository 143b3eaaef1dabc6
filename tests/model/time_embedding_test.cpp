#include "lockstep/model/time_embedding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lockstep/ops/record.h"

namespace lockstep::model {
namespace {

TEST(TimeEmbedding, IsCosinesThenSinesOfFallingFrequencies) {
  at::Tensor t = ops::empty({3});
  ops::write(t)[0] = 0.0F;
  ops::write(t)[1] = 1.0F;
  ops::write(t)[2] = 999.0F;
  const at::Tensor e = time_embedding(t, 8);
  ASSERT_EQ(e.sizes(), at::IntArrayRef({3, 8}));
  for (int s = 0; s < 3; ++s) {
    for (int i = 0; i < 4; ++i) {
      const double angle = static_cast<double>(ops::read(t)[s]) * std::pow(10000.0, -i / 4.0);
      // Rounded once to float: half an ulp of numbers up to one, and a little for the doubles.
      EXPECT_NEAR(ops::read(e)[s * 8 + i], std::cos(angle), 3.0e-8);
      EXPECT_NEAR(ops::read(e)[s * 8 + 4 + i], std::sin(angle), 3.0e-8);
    }
  }
}

}  // namespace
}  // namespace lockstep::model
