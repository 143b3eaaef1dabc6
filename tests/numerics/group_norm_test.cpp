// Group norm: every implementation and thread count against the header's text.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "lockstep/numerics/spec/scalar.h"
#include "numerics/device.h"
#include "numerics/reference.h"

namespace lockstep::numerics {
namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// group_norm and its backward pass, one group of one sample after another.
struct GroupNormReference {
  GroupNormShape s;
  const Floats &x, &gamma, &beta, &dy;
  Floats y = Floats(x.size()), mean = {}, rstd = {}, dx = Floats(x.size());
  Floats sum_g = {}, sum_g_xhat = {};  // [n][c]

  std::size_t at(std::int64_t i, std::int64_t p, std::int64_t j) const {
    return index((i * s.spatial + p) * s.c + j);
  }
  // A chain over positions for each channel of the group, then a chain over its channels.
  template <class Fold>
  float two_levels(std::int64_t group, const Fold& fold) const {
    const std::int64_t width = s.c / s.groups;
    return chain(width, [&](float acc, std::int64_t j) {
      return acc + chain(s.spatial, [&](float inner, std::int64_t p) {
               return fold(inner, p, group * width + j);
             });
    });
  }
  void forward(std::int64_t i, std::int64_t group) {
    const auto count = static_cast<float>(s.spatial * (s.c / s.groups));
    const float mu = two_levels(group, [&](float acc, std::int64_t p,
                                           std::int64_t j) { return acc + x[at(i, p, j)]; }) /
                     count;
    const float variance = two_levels(group,
                                      [&](float acc, std::int64_t p, std::int64_t j) {
                                        const float d = x[at(i, p, j)] - mu;
                                        return std::fma(d, d, acc);
                                      }) /
                           count;
    mean.push_back(mu);
    rstd.push_back(1.0f / std::sqrt(variance + s.eps));
  }
  float xhat(std::size_t k) const {
    const std::int64_t i = static_cast<std::int64_t>(k) / (s.spatial * s.c);
    const std::int64_t group = static_cast<std::int64_t>(k) % s.c / (s.c / s.groups);
    const std::size_t stat = index(i * s.groups + group);
    return (x[k] - mean[stat]) * rstd[stat];
  }
  float linear(std::size_t k, std::int64_t j) const {
    return std::fma(xhat(k), gamma[index(j)], beta[index(j)]);
  }
  float g(std::size_t k, std::int64_t j) const {
    return s.activation == Activation::kSilu ? dy[k] * scalar::silu_derivative(linear(k, j))
                                             : dy[k];
  }
  void backward(std::int64_t i, std::int64_t group) {
    const std::int64_t width = s.c / s.groups, first = group * width;
    const auto count = static_cast<float>(s.spatial * width);
    for (std::int64_t j = first; j < first + width; ++j) {
      sum_g.push_back(
          chain(s.spatial, [&](float acc, std::int64_t p) { return acc + g(at(i, p, j), j); }));
      sum_g_xhat.push_back(chain(s.spatial, [&](float acc, std::int64_t p) {
        return std::fma(g(at(i, p, j), j), xhat(at(i, p, j)), acc);
      }));
    }
    const auto weighted = [&](const Floats& sums) {
      return chain(width, [&](float acc, std::int64_t j) {
        return std::fma(gamma[index(first + j)], sums[index(i * s.c + first + j)], acc);
      });
    };
    const float m = weighted(sum_g) / count, q = weighted(sum_g_xhat) / count;
    for (std::int64_t p = 0; p < s.spatial; ++p) {
      for (std::int64_t j = first; j < first + width; ++j) {
        const std::size_t k = at(i, p, j);
        const float h = g(k, j) * gamma[index(j)];
        dx[k] = (h - std::fma(xhat(k), q, m)) * rstd[index(i * s.groups + group)];
      }
    }
  }
  void run() {
    for (std::int64_t i = 0; i < s.n; ++i) {
      for (std::int64_t group = 0; group < s.groups; ++group) forward(i, group);
    }
    for (std::size_t k = 0; k < x.size(); ++k) {
      const float z = linear(k, static_cast<std::int64_t>(k) % s.c);
      y[k] = s.activation == Activation::kSilu ? scalar::silu(z) : z;
    }
    for (std::int64_t i = 0; i < s.n; ++i) {
      for (std::int64_t group = 0; group < s.groups; ++group) backward(i, group);
    }
  }
  // A lane's samples in order, then the tree.
  Floats parameter_gradient(const LaneBlocks& lanes, const Floats& sums) const {
    return tree_of_lanes(lanes, s.c, [&](std::int64_t lane, std::int64_t j) {
      float sum = sums[index(lane * lanes.samples_per_lane * s.c + j)];
      for (std::int64_t i = 1; i < lanes.samples_per_lane; ++i) {
        sum = sum + sums[index((lane * lanes.samples_per_lane + i) * s.c + j)];
      }
      return sum;
    });
  }
};

// `shift`: floats from where four of them would be aligned.
void expect_header(const GroupNormShape& s, const LaneBlocks& lanes, std::int64_t shift = 0) {
  const Floats x = random_floats(s.n * s.spatial * s.c), dy = random_floats(s.n * s.spatial * s.c);
  const Floats gamma = random_floats(s.c), beta = random_floats(s.c);
  GroupNormReference expected{s, x, gamma, beta, dy};
  expected.run();
  const Floats dgamma = expected.parameter_gradient(lanes, expected.sum_g_xhat);
  const Floats dbeta = expected.parameter_gradient(lanes, expected.sum_g);
  const Floats before(index(shift)), shifted_x = joined({before, x}),
                                     shifted_dy = joined({before, dy});
  expect_everywhere(
      joined({expected.y, expected.mean, expected.rstd, expected.dx, dgamma, dbeta, expected.dx,
              dgamma, dbeta}),
      [&] {
        Floats y(x.size()), mean(index(s.n * s.groups)), rstd(mean), dx(x.size()), alone_dx(dx);
        Floats out_gamma(dgamma.size()), out_beta(dbeta.size()), alone_gamma(dgamma),
            alone_beta(dbeta);
        const float* const from = shifted_x.data() + shift;
        device().group_norm(s, from, gamma.data(), beta.data(), y.data(), mean.data(), rstd.data());
        const auto back = [&](float* to, float* to_gamma, float* to_beta) {
          device().group_norm_backward(s, lanes, from, gamma.data(), beta.data(), mean.data(),
                                       rstd.data(), shifted_dy.data() + shift, to, to_gamma,
                                       to_beta);
        };
        back(dx.data(), out_gamma.data(), out_beta.data());
        back(alone_dx.data(), nullptr, nullptr);
        back(nullptr, alone_gamma.data(), alone_beta.data());
        return joined({y, mean, rstd, dx, out_gamma, out_beta, alone_dx, alone_gamma, alone_beta});
      });
}

RC_GTEST_PROP(GroupNorm, FollowsTheHeader, ()) {
  const LaneBlocks lanes = random_lanes();
  expect_header(random_group_norm(lanes, 1), lanes);
}

// A GPU reads several samples of a lane, or of several lanes, at a time; 513 positions are two
// blocks of a chain.
RC_GTEST_PROP(GroupNorm, OfManySamplesFollowsTheHeader, ()) {
  const bool wide = between(1, 40) == 40;
  const LaneBlocks lanes{.samples_per_lane = between(17, 36), .lanes = {between(1, wide ? 2 : 4)}};
  const std::int64_t spatial = wide ? 513 : between(1, 3);
  expect_header({lanes.samples(), spatial, 3, 1, 1e-5F, Activation::kSilu}, lanes);
}

// More channels than a block of a GPU has threads, and more positions than one takes.
RC_GTEST_PROP(GroupNorm, OfManyChannelsFollowsTheHeader, ()) {
  const LaneBlocks lanes{.samples_per_lane = 1, .lanes = {1}};
  expect_header({1, between(1, 41), 3 * between(84, 180), 3, 1e-5F, Activation::kNone}, lanes);
}

// Groups that a block of a GPU holds in its shared memory, each way or on the way forth only, and
// groups that it does not (group_tile-inl.h).
RC_GTEST_PROP(GroupNorm, OfQuadsFollowsTheHeader, ()) {
  const LaneBlocks lanes{.samples_per_lane = between(1, 2), .lanes = {between(1, 3)}};
  const std::int64_t per_group = *rc::gen::element<std::int64_t>(1, 2, 3, 4, 8, 12, 20, 64);
  const std::int64_t groups = std::lcm(per_group, std::int64_t{4}) / per_group * between(1, 4);
  const std::int64_t most = 200'000 / (lanes.samples() * groups * per_group);
  const std::int64_t spatial = std::min(random_length(), most);
  const Activation activation = *rc::gen::element(Activation::kNone, Activation::kSilu);
  expect_header({lanes.samples(), spatial, groups * per_group, groups, 1e-5F, activation}, lanes,
                between(0, 5) / 5);
}

// Tiles that fit the shared memory of some GPUs and not of others, each way (docs/cuda.md, "Sums,
// norms and softmax"): 32 x 32 pixels. All of them twice: a property's hundred draws are too many.
TEST(GroupNorm, OfTilesForEachSharedMemoryFollowsTheHeader) {
  rc::detail::TestParams twice = rc::detail::configuration().testParams;
  twice.maxSuccess = 2;
  const auto result = rc::detail::checkTestable(
      [] {
        for (const std::int64_t channels : {12, 20, 24, 28, 40, 56})
          expect_header({1, 1024, channels, 1, 1e-5F, Activation::kSilu},
                        {.samples_per_lane = 1, .lanes = {1}});
      },
      rc::detail::TestMetadata(), twice);
  std::ostringstream told;
  rc::detail::printResultMessage(result, told);
  EXPECT_TRUE(result.template is<rc::detail::SuccessResult>()) << told.str();
}

// A group's chain over its channels has several blocks.
RC_GTEST_PROP(GroupNorm, OfWideGroupsFollowsTheHeader, ()) {
  const LaneBlocks lanes{.samples_per_lane = 1, .lanes = {1}};
  expect_header({1, between(1, 3), between(513, 1100), 1, 1e-5F, Activation::kNone}, lanes);
}

RC_GTEST_PROP(GroupNorm, WithSiluEqualsTheTwoInARow, ()) {
  GroupNormShape s{between(1, 3), between(1, 60), 4 * between(1, 12), 4, 1e-5f, Activation::kNone};
  const Floats x = random_floats(s.n * s.spatial * s.c), gamma = random_floats(s.c);
  const Floats beta = random_floats(s.c);
  Floats y(x.size()), expected(x.size()), mean(index(s.n * s.groups)), rstd(mean);
  device().group_norm(s, x.data(), gamma.data(), beta.data(), y.data(), mean.data(), rstd.data());
  device().unary(Unary::kSilu, static_cast<std::int64_t>(y.size()), y.data(), expected.data());
  s.activation = Activation::kSilu;
  expect_everywhere(expected, [&] {
    device().group_norm(s, x.data(), gamma.data(), beta.data(), y.data(), mean.data(), rstd.data());
    return y;
  });
}

RC_GTEST_PROP(GroupNorm, PartialsComposeToTheSameGradientAtEveryWorldSize, ()) {
  const std::int64_t total = between(1, 9), samples_per_lane = between(1, 3);
  GroupNormShape s{total * samples_per_lane, between(1, 30), 6, 2, 1e-5f, Activation::kSilu};
  const std::int64_t size = s.spatial * s.c;
  const Floats x = random_floats(s.n * size), dy = random_floats(s.n * size);
  const Floats gamma = random_floats(s.c), beta = random_floats(s.c);
  Floats y(x.size()), mean(index(s.n * s.groups)), rstd(mean);
  device().group_norm(s, x.data(), gamma.data(), beta.data(), y.data(), mean.data(), rstd.data());
  expect_same_at_every_world_size(
      samples_per_lane, total, s.c, [&](const LaneBlocks& lanes, std::int64_t first) {
        GroupNormShape part = s;
        part.n = lanes.samples();
        Floats dgamma(index(lanes.partials() * s.c)), dbeta(dgamma);
        device().group_norm_backward(part, lanes, x.data() + first * size, gamma.data(),
                                     beta.data(), mean.data() + first * s.groups,
                                     rstd.data() + first * s.groups, dy.data() + first * size,
                                     nullptr, dgamma.data(), dbeta.data());
        return dgamma;
      });
}

}  // namespace
}  // namespace lockstep::numerics
