#include <string>

#include "conformance/device.h"
#include "conformance/document.h"

namespace lockstep::conformance {
namespace {

using namespace lockstep::numerics;

constexpr float kEps = 0x1.4f8b58p-17f;  // 1e-5

void describe(Case& c, const LaneBlocks& lanes) {
  c.parameter("samples_per_lane", lanes.samples_per_lane);
  c.parameter("lanes_of_partials", lanes.lanes);
}

Floats room(std::int64_t n) {
  return Floats(static_cast<std::size_t>(n));
}

void add_group_norm(Json& cases, GroupNormShape s, const LaneBlocks& lanes) {
  const bool silu = s.activation == Activation::kSilu;
  const std::string what = std::to_string(s.n) + " x " + std::to_string(s.spatial) + " x " +
                           std::to_string(s.c) + ", " + std::to_string(s.groups) + " groups" +
                           (silu ? ", silu" : "");
  const auto describe_norm = [&](Case& c) {
    c.parameter("groups", s.groups);
    c.parameter("activation", silu ? "silu" : "none");
    s.eps = c.parameter("eps", kEps);
  };
  {
    Case c(cases, "group_norm", what);
    describe_norm(c);
    const Floats x = c.input("x", Make::kUnit, {s.n, s.spatial, s.c});
    const Floats gamma = c.input("gamma", Make::kWide, {s.c});
    const Floats beta = c.input("beta", Make::kWide, {s.c});
    Floats y(x.size()), mean = room(s.n * s.groups), rstd = mean;
    device().group_norm(s, x.data(), gamma.data(), beta.data(), y.data(), mean.data(), rstd.data());
    c.output("y", y);
    c.output("mean", mean);
    c.output("rstd", rstd);
  }
  Case c(cases, "group_norm_backward", what);
  describe_norm(c);
  describe(c, lanes);
  const Floats x = c.input("x", Make::kUnit, {s.n, s.spatial, s.c});
  const Floats gamma = c.input("gamma", Make::kUnit, {s.c}),
               beta = c.input("beta", Make::kUnit, {s.c});
  const Floats mean = c.input("mean", Make::kUnit, {s.n, s.groups});
  const Floats rstd = c.input("rstd", Make::kPositive, {s.n, s.groups});
  const Floats dy = c.input("dy", Make::kSparse, {s.n, s.spatial, s.c});
  Floats dx(x.size()), dgamma = room(lanes.partials() * s.c), dbeta = dgamma;
  device().group_norm_backward(s, lanes, x.data(), gamma.data(), beta.data(), mean.data(),
                               rstd.data(), dy.data(), dx.data(), dgamma.data(), dbeta.data());
  c.output("dx", dx);
  c.output("dgamma", dgamma);
  c.output("dbeta", dbeta);
}

void add_layer_norm(Json& cases, std::int64_t rows, std::int64_t width, const LaneBlocks& lanes,
                    std::int64_t rows_per_sample, bool affine) {
  const std::string what = std::to_string(rows) + " x " + std::to_string(width) +
                           (affine ? "" : ", without gamma and beta");
  {
    Case c(cases, "layer_norm", what);
    const float eps = c.parameter("eps", kEps);
    const Floats x = c.input("x", Make::kUnit, {rows, width});
    const Floats gamma = affine ? c.input("gamma", Make::kWide, {width}) : Floats{};
    const Floats beta = affine ? c.input("beta", Make::kWide, {width}) : Floats{};
    Floats y(x.size()), mean = room(rows), rstd = mean;
    const Affine by = affine ? Affine{gamma.data(), beta.data()} : Affine{};
    device().layer_norm(rows, width, eps, x.data(), by, y.data(), mean.data(), rstd.data());
    c.output("y", y);
    c.output("mean", mean);
    c.output("rstd", rstd);
  }
  Case c(cases, "layer_norm_backward", what);
  describe(c, lanes);
  c.parameter("rows_per_sample", rows_per_sample);
  const Floats x = c.input("x", Make::kUnit, {rows, width});
  const Floats gamma = affine ? c.input("gamma", Make::kWide, {width}) : Floats{};
  const Floats mean = c.input("mean", Make::kUnit, {rows});
  const Floats rstd = c.input("rstd", Make::kPositive, {rows});
  const Floats dy = c.input("dy", Make::kSparse, {rows, width});
  Floats dx(x.size()), dgamma = room(lanes.partials() * width), dbeta = dgamma;
  device().layer_norm_backward(rows, width, lanes, rows_per_sample, x.data(),
                               {affine ? gamma.data() : nullptr}, mean.data(), rstd.data(),
                               dy.data(), dx.data(), affine ? dgamma.data() : nullptr,
                               affine ? dbeta.data() : nullptr);
  c.output("dx", dx);
  if (affine) {
    c.output("dgamma", dgamma);
    c.output("dbeta", dbeta);
  }
}

void add_batch_statistics(Json& cases, const LaneBlocks& lanes, std::int64_t rows,
                          std::int64_t channels) {
  const std::int64_t total = lanes.samples() * rows, n = lanes.lane_count();
  const std::string what = std::to_string(n) + " lanes of " +
                           std::to_string(lanes.samples_per_lane * rows) + " x " +
                           std::to_string(channels);
  Case c(cases, "batch_moments", what);  // of each lane, then of all of them
  c.parameter("samples_per_lane", lanes.samples_per_lane);
  c.parameter("rows_per_sample", rows);
  const Floats x = c.input("x", Make::kWide, {total, channels});
  Floats mean = room(n * channels), m2 = mean;
  device().lane_moments(lanes, rows, channels, x.data(), mean.data(), m2.data());
  Floats merged_count, merged_mean, merged_m2;
  for (std::int64_t j = 0; j < channels; ++j) {
    const Moments all = tree_fold(
        0, n,
        [&](std::int64_t lane) {
          const auto at = static_cast<std::size_t>(lane * channels + j);
          return Moments{static_cast<float>(lanes.samples_per_lane * rows), mean[at], m2[at]};
        },
        [](const Moments& a, const Moments& b) { return merge(a, b); });
    merged_count.push_back(all.count);
    merged_mean.push_back(all.mean);
    merged_m2.push_back(all.m2);
  }
  c.output("mean", mean);
  c.output("m2", m2);
  c.output("merged_count", merged_count);
  c.output("merged_mean", merged_mean);
  c.output("merged_m2", merged_m2);
}

void add_merge_moments(Json& cases, std::int64_t lanes, std::int64_t channels) {
  Case c(cases, "merge_moments", std::to_string(lanes) + " lanes of " + std::to_string(channels));
  const float count = c.parameter("count", 24.0f);
  const Floats rows = c.input("rows", Make::kWide, {lanes, 2, channels});
  Floats mean = room(channels), variance = mean;
  device().merge_moments(lanes, channels, count, rows.data(), mean.data(), variance.data());
  c.output("mean", mean);
  c.output("variance", variance);
}

void add_batch_norm(Json& cases, const LaneBlocks& lanes, std::int64_t rows,
                    std::int64_t channels) {
  const std::int64_t total = lanes.samples() * rows;
  const std::string what = std::to_string(total) + " x " + std::to_string(channels);
  const Shape x_shape = {total, channels}, c_shape = {channels};
  {
    Case c(cases, "batch_norm", what);
    const Floats x = c.input("x", Make::kWide, x_shape),
                 mean = c.input("mean", Make::kUnit, c_shape);
    const Floats rstd = c.input("rstd", Make::kPositive, c_shape);
    const Floats gamma = c.input("gamma", Make::kUnit, c_shape);
    const Floats beta = c.input("beta", Make::kUnit, c_shape);
    Floats y(x.size());
    device().batch_norm_apply(total, channels, x.data(), mean.data(), rstd.data(), gamma.data(),
                              beta.data(), y.data());
    c.output("y", y);
  }
  {
    Case c(cases, "batch_norm_backward_sums", what);  // S and P of each lane
    c.parameter("samples_per_lane", lanes.samples_per_lane);
    c.parameter("rows_per_sample", rows);
    const Floats x = c.input("x", Make::kWide, x_shape),
                 mean = c.input("mean", Make::kUnit, c_shape);
    const Floats rstd = c.input("rstd", Make::kPositive, c_shape);
    const Floats dy = c.input("dy", Make::kSparse, x_shape);
    Floats s = room(lanes.lane_count() * channels), p = s;
    device().batch_norm_backward_sums(lanes, rows, channels, x.data(), mean.data(), rstd.data(),
                                      dy.data(), s.data(), p.data());
    c.output("s", s);
    c.output("p", p);
  }
  Case c(cases, "batch_norm_backward", what);
  const float count = c.parameter("count", 96.0f);
  const Floats x = c.input("x", Make::kWide, x_shape), mean = c.input("mean", Make::kUnit, c_shape);
  const Floats rstd = c.input("rstd", Make::kPositive, c_shape);
  const Floats gamma = c.input("gamma", Make::kUnit, c_shape);
  const Floats dy = c.input("dy", Make::kSparse, x_shape);
  const Floats s = c.input("s", Make::kWide, c_shape), p = c.input("p", Make::kWide, c_shape);
  Floats dx(x.size());
  device().batch_norm_backward_apply(total, channels, count, x.data(), mean.data(), rstd.data(),
                                     gamma.data(), dy.data(), s.data(), p.data(), dx.data());
  c.output("dx", dx);
}

}  // namespace

void add_norm_cases(Json& cases) {
  for (const Activation a : {Activation::kNone, Activation::kSilu}) {
    add_group_norm(cases, {.n = 3, .spatial = 9, .c = 24, .groups = 4, .activation = a},
                   {1, {2, 1}});
    add_group_norm(cases, {.n = 2, .spatial = 530, .c = 6, .groups = 2, .activation = a}, {2, {1}});
    add_group_norm(cases, {.n = 10, .spatial = 4, .c = 8, .groups = 2, .activation = a}, {5, {2}});
    add_group_norm(cases, {.n = 4, .spatial = 1, .c = 5, .groups = 5, .activation = a}, {2, {2}});
  }
  add_layer_norm(cases, 12, 37, {2, {2, 1}}, 2, true);
  add_layer_norm(cases, 3, 600, {1, {3}}, 1, true);
  add_layer_norm(cases, 6, 16, {1, {3}}, 2, false);
  add_batch_statistics(cases, {1, {1}}, 5, 3);
  add_batch_statistics(cases, {2, {5}}, 3, 19);
  add_batch_statistics(cases, {3, {3}}, 200, 2);
  for (const std::int64_t lanes : {1, 2, 3, 7, 8, 13}) add_merge_moments(cases, lanes, 19);
  add_batch_norm(cases, {2, {3}}, 7, 19);
}

}  // namespace lockstep::conformance
