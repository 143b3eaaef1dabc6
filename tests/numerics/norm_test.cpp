// Layer and batch norm: every implementation and thread count against the header's text.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lockstep/numerics/spec/scalar.h"
#include "numerics/device.h"
#include "numerics/reference.h"

namespace lockstep::numerics {
namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

RC_GTEST_PROP(LayerNorm, FollowsTheHeader, ()) {
  const LaneBlocks lanes = random_lanes();
  const std::int64_t rows_per_sample = between(1, 12), rows = lanes.samples() * rows_per_sample;
  const std::int64_t c = random_length();
  const bool affine = *rc::gen::arbitrary<bool>();
  const float eps = 1e-6f;
  const Floats x = random_floats(rows * c), dy = random_floats(rows * c);
  const Floats gamma = random_floats(c), beta = random_floats(c);
  const auto count = static_cast<float>(c);
  Floats y(x.size()), mean, rstd, dx(x.size()), xhat(x.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto at = [&](std::int64_t j) { return index(i * c + j); };
    const float mu = chain(c, [&](float acc, std::int64_t j) { return acc + x[at(j)]; }) / count;
    const float squares = chain(c, [&](float acc, std::int64_t j) {
      const float d = x[at(j)] - mu;
      return std::fma(d, d, acc);
    });
    const float r = 1.0f / std::sqrt(squares / count + eps);
    mean.push_back(mu);
    rstd.push_back(r);
    Floats h;
    for (std::int64_t j = 0; j < c; ++j) {
      xhat[at(j)] = (x[at(j)] - mu) * r;
      y[at(j)] = affine ? std::fma(xhat[at(j)], gamma[index(j)], beta[index(j)]) : xhat[at(j)];
      h.push_back(affine ? dy[at(j)] * gamma[index(j)] : dy[at(j)]);
    }
    const float m = chain(c, [&](float acc, std::int64_t j) { return acc + h[index(j)]; }) / count;
    const float q =
        chain(c,
              [&](float acc, std::int64_t j) { return std::fma(h[index(j)], xhat[at(j)], acc); }) /
        count;
    for (std::int64_t j = 0; j < c; ++j) {
      dx[at(j)] = (h[index(j)] - std::fma(xhat[at(j)], q, m)) * r;
    }
  }
  const std::int64_t lane_rows = lanes.samples_per_lane * rows_per_sample;
  const Floats dgamma = tree_of_lanes(lanes, c, [&](std::int64_t lane, std::int64_t j) {
    return chain(lane_rows, [&](float acc, std::int64_t i) {
      const std::size_t k = index((lane * lane_rows + i) * c + j);
      return std::fma(dy[k], xhat[k], acc);
    });
  });
  const Floats dbeta = tree_of_lanes(lanes, c, [&](std::int64_t lane, std::int64_t j) {
    return chain(lane_rows, [&](float acc, std::int64_t i) {
      return acc + dy[index((lane * lane_rows + i) * c + j)];
    });
  });
  expect_everywhere(joined({y, mean, rstd, dx, dgamma, dbeta}), [&] {
    const float* scale = affine ? gamma.data() : nullptr;
    const float* shift = affine ? beta.data() : nullptr;
    Floats oy(y.size()), om(mean.size()), os(rstd.size()), odx(dx.size());
    Floats og(dgamma.size()), ob(dbeta.size());
    device().layer_norm(rows, c, eps, x.data(), {scale, shift}, oy.data(), om.data(), os.data());
    device().layer_norm_backward(rows, c, lanes, rows_per_sample, x.data(), {scale}, om.data(),
                                 os.data(), dy.data(), odx.data(), og.data(), ob.data());
    return joined({oy, om, os, odx, og, ob});
  });
}

RC_GTEST_PROP(LayerNorm, OfSomeRowsHasTheirGammaAndBeta, ()) {
  const std::int64_t parts = between(1, 4), of_part = *rc::gen::element<std::int64_t>(1, 3, 40, 70),
                     rows = parts * of_part, c = random_length();
  const Floats x = random_floats(rows * c), dy = random_floats(rows * c);
  const Floats gamma = random_floats(parts * c), beta = random_floats(parts * c);
  const LaneBlocks none;
  Floats y(x.size()), dx(x.size()), mean(index(rows)), rstd(index(rows));
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t row = i * of_part, at = row * c;
    device().layer_norm(of_part, c, 1e-5F, x.data() + at,
                        {gamma.data() + i * c, beta.data() + i * c}, y.data() + at,
                        mean.data() + row, rstd.data() + row);
    device().layer_norm_backward(of_part, c, none, 1, x.data() + at, {gamma.data() + i * c},
                                 mean.data() + row, rstd.data() + row, dy.data() + at,
                                 dx.data() + at, nullptr, nullptr);
  }
  expect_everywhere(joined({y, mean, rstd, dx}), [&] {
    Floats oy(y.size()), om(mean.size()), os(rstd.size()), odx(dx.size());
    device().layer_norm(rows, c, 1e-5F, x.data(), {gamma.data(), beta.data(), of_part}, oy.data(),
                        om.data(), os.data());
    device().layer_norm_backward(rows, c, none, 1, x.data(), {gamma.data(), nullptr, of_part},
                                 om.data(), os.data(), dy.data(), odx.data(), nullptr, nullptr);
    return joined({oy, om, os, odx});
  });
}

RC_GTEST_PROP(BatchNorm, FollowsTheHeader, ()) {
  const LaneBlocks lanes = random_lanes();
  const std::int64_t c = between(1, 70), rows = random_rows(lanes.samples() * c);
  const std::int64_t all_rows = lanes.samples() * rows, lane_rows = lanes.samples_per_lane * rows;
  const Floats x = random_floats(all_rows * c), dy = random_floats(all_rows * c);
  const Floats mean = random_floats(c), rstd = random_floats(c), gamma = random_floats(c);
  const Floats beta = random_floats(c), sum_dy = random_floats(c), sum_dy_xhat = random_floats(c);
  Floats means, m2, y(x.size()), sums, products, dx(x.size());
  const auto xhat = [&](std::size_t k) { return (x[k] - mean[k % index(c)]) * rstd[k % index(c)]; };
  for (std::int64_t lane = 0; lane < lanes.lane_count(); ++lane) {
    for (std::int64_t j = 0; j < c; ++j) {
      const auto at = [&](std::int64_t i) { return index((lane * lane_rows + i) * c + j); };
      const auto over_rows = [&](const auto& fold) {
        return chain(lane_rows, [&](float acc, std::int64_t i) { return fold(acc, at(i)); });
      };
      const float mu = over_rows([&](float acc, std::size_t k) { return acc + x[k]; }) /
                       static_cast<float>(lane_rows);
      means.push_back(mu);
      m2.push_back(over_rows([&](float acc, std::size_t k) {
        const float d = x[k] - mu;
        return std::fma(d, d, acc);
      }));
      sums.push_back(over_rows([&](float acc, std::size_t k) { return acc + dy[k]; }));
      products.push_back(
          over_rows([&](float acc, std::size_t k) { return std::fma(dy[k], xhat(k), acc); }));
    }
  }
  const auto count = static_cast<float>(all_rows);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::size_t j = k % index(c);
    y[k] = std::fma(xhat(k), gamma[j], beta[j]);
    const float scale = gamma[j] * rstd[j];
    dx[k] = scale * (dy[k] - std::fma(xhat(k), sum_dy_xhat[j] / count, sum_dy[j] / count));
  }
  expect_everywhere(joined({means, m2, y, sums, products, dx}), [&] {
    Floats om(means.size()), o2(m2.size()), oy(y.size()), os(sums.size()), op(products.size());
    Floats odx(dx.size());
    device().lane_moments(lanes, rows, c, x.data(), om.data(), o2.data());
    device().batch_norm_apply(all_rows, c, x.data(), mean.data(), rstd.data(), gamma.data(),
                              beta.data(), oy.data());
    device().batch_norm_backward_sums(lanes, rows, c, x.data(), mean.data(), rstd.data(), dy.data(),
                                      os.data(), op.data());
    device().batch_norm_backward_apply(all_rows, c, count, x.data(), mean.data(), rstd.data(),
                                       gamma.data(), dy.data(), sum_dy.data(), sum_dy_xhat.data(),
                                       odx.data());
    return joined({om, o2, oy, os, op, odx});
  });
}

// The page's merge in the page's tree, a second time.
Moments merged(std::int64_t first, std::int64_t count, const std::vector<Moments>& lanes) {
  if (count == 1) return lanes[index(first)];
  std::int64_t left = 1;
  while (2 * left < count) left *= 2;
  const Moments a = merged(first, left, lanes);
  const Moments b = merged(first + left, count - left, lanes);
  const float d = b.mean - a.mean, both = a.count + b.count, r = b.count / both;
  return {both, std::fma(d, r, a.mean), std::fma(d * d, a.count * r, a.m2 + b.m2)};
}

RC_GTEST_PROP(Moments, OfAllLanesAreMergedInTheTree, ()) {
  const std::int64_t lanes = between(1, 19), c = random_length();
  const auto count = static_cast<float>(between(1, 5000));
  const Floats rows = random_floats(lanes * 2 * c);
  Floats means, variances;
  for (std::int64_t j = 0; j < c; ++j) {
    std::vector<Moments> of_lanes;
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      const std::size_t at = index(2 * lane * c + j);
      of_lanes.push_back({count, rows[at], rows[at + index(c)]});
    }
    const Moments all = merged(0, lanes, of_lanes);
    means.push_back(all.mean);
    variances.push_back(all.m2 / all.count);
  }
  expect_everywhere(joined({means, variances}), [&] {
    Floats mean(means.size()), variance(variances.size());
    device().merge_moments(lanes, c, count, rows.data(), mean.data(), variance.data());
    return joined({mean, variance});
  });
}

TEST(Moments, MergeAsWritten) {
  const Moments a{3, 1.1f, 0.3f}, b{5, -0.7f, 2.9f};
  const Moments both = merge(a, b);
  const float d = -0.7f - 1.1f, r = 5.0f / 8.0f;
  EXPECT_EQ(both.count, 8.0f);
  EXPECT_EQ(both.mean, std::fma(d, r, 1.1f));
  EXPECT_EQ(both.m2, std::fma(d * d, 3.0f * r, 0.3f + 2.9f));
}

// Integers this small leave nothing to round: the merge must be exact.
TEST(Moments, MergedEqualMomentsOfTheWhole) {
  const Floats x = {0, 2, 4, 6, 8, 12, 16, 0, 4, 4, 12, 4};
  Floats mean(4), m2(4);
  device().lane_moments(LaneBlocks{1, {3}}, 4, 1, x.data(), mean.data(), m2.data());
  const Moments first{4, mean[0], m2[0]}, second{4, mean[1], m2[1]};
  const Moments both = merge(first, second);
  device().lane_moments(LaneBlocks{1, {1}}, 8, 1, x.data(), mean.data(), m2.data());
  EXPECT_EQ(both.count, 8.0f);
  EXPECT_EQ(both.mean, mean[0]);
  EXPECT_EQ(both.m2, m2[0]);
}

}  // namespace
}  // namespace lockstep::numerics
