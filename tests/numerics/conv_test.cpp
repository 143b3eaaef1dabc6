#include <gtest/gtest.h>

#include <limits>

#include "numerics/device.h"
#include "numerics/matrix_testing.h"

namespace lockstep::numerics {
namespace {
using namespace testing;

struct Case {
  ConvShape s;
  std::uint32_t seed = 0;

  std::int64_t image() const { return s.n * s.h * s.w * s.in; }
  std::int64_t result() const { return s.n * s.out_h() * s.out_w() * s.out; }
  std::int64_t weights() const { return s.kh * s.kw * s.in * s.out; }
};

// channels: most of them on either side, so that a case stays small.
Case random_case(std::int64_t most_channels) {
  Case c;
  ConvShape& s = c.s;
  s.kh = draw(1, 4);
  s.kw = draw(1, 4);
  s.stride = draw(1, 3);
  s.pad = draw(0, 4);  // also wider than the kernel
  s.h = draw(std::max<std::int64_t>(1, s.kh - 2 * s.pad), 9);
  s.w = draw(std::max<std::int64_t>(1, s.kw - 2 * s.pad), 9);
  s.n = draw(1, 3);
  s.in = *rc::gen::element<std::int64_t>(1, 2, draw(3, most_channels));
  s.out = *rc::gen::element<std::int64_t>(1, 2, draw(3, most_channels));
  if (s.in * s.out > 900)
    s.n = 1, s.h = std::min<std::int64_t>(s.h, 5), s.w = std::min<std::int64_t>(s.w, 5);
  s.h = std::max(s.h, s.kh - 2 * s.pad);
  s.w = std::max(s.w, s.kw - 2 * s.pad);
  c.seed = *rc::gen::arbitrary<std::uint32_t>();
  RC_LOG() << "n " << s.n << " h " << s.h << " w " << s.w << " in " << s.in << " out " << s.out
           << " kh " << s.kh << " kw " << s.kw << " stride " << s.stride << " pad " << s.pad
           << "\n";
  return c;
}

// Pixel value with +0 outside.
float at(const Floats& v, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t n,
         std::int64_t y, std::int64_t x, std::int64_t channel) {
  if (y < 0 || y >= h || x < 0 || x >= w) return 0.0F;
  return v[size(((n * h + y) * w + x) * c + channel)];
}

Floats reference_forward(const ConvShape& s, const Floats& x, const Floats& w, const Floats& bias) {
  Floats y;
  for (std::int64_t i = 0; i < s.n * s.out_h() * s.out_w(); ++i) {
    const std::int64_t ox = i % s.out_w(), oy = i / s.out_w() % s.out_h(),
                       n = i / s.out_w() / s.out_h();
    for (std::int64_t co = 0; co < s.out; ++co) {
      const float sum = reference_chain(s.kh * s.kw * s.in, [&](std::int64_t k) {
        const std::int64_t ci = k % s.in, kx = k / s.in % s.kw, ky = k / s.in / s.kw;
        return std::pair(
            at(x, s.h, s.w, s.in, n, oy * s.stride + ky - s.pad, ox * s.stride + kx - s.pad, ci),
            w[size(k * s.out + co)]);
      });
      y.push_back(bias.empty() ? sum : sum + bias[size(co)]);
    }
  }
  return y;
}

Floats reference_input_grad(const ConvShape& s, const Floats& dy, const Floats& w,
                            const Floats& bias) {
  Floats dx;
  for (std::int64_t i = 0; i < s.n * s.h * s.w; ++i) {
    const std::int64_t x = i % s.w, y = i / s.w % s.h, n = i / s.w / s.h;
    for (std::int64_t ci = 0; ci < s.in; ++ci) {
      std::vector<std::pair<float, float>> chain;
      for (std::int64_t ky = 0; ky < s.kh; ++ky) {
        for (std::int64_t kx = 0; kx < s.kw; ++kx) {
          const std::int64_t ty = y + s.pad - ky, tx = x + s.pad - kx;
          if (ty % s.stride != 0 || tx % s.stride != 0) continue;
          for (std::int64_t co = 0; co < s.out; ++co) {
            chain.emplace_back(
                at(dy, s.out_h(), s.out_w(), s.out, n, ty / s.stride, tx / s.stride, co),
                w[size(((ky * s.kw + kx) * s.in + ci) * s.out + co)]);
          }
        }
      }
      const float sum = reference_chain(static_cast<std::int64_t>(chain.size()),
                                        [&](std::int64_t k) { return chain[size(k)]; });
      dx.push_back(bias.empty() ? sum : sum + bias[size(ci)]);
    }
  }
  return dx;
}

// One partial: the tree over lanes of `per_lane` samples.
Floats reference_weight_grad(const ConvShape& s, std::int64_t per_lane, const Floats& x,
                             const Floats& dy) {
  Floats dw;
  const std::int64_t pixels = s.out_h() * s.out_w();
  for (std::int64_t i = 0; i < s.kh * s.kw * s.in * s.out; ++i) {
    const std::int64_t co = i % s.out, ci = i / s.out % s.in, kx = i / s.out / s.in % s.kw,
                       ky = i / s.out / s.in / s.kw;
    const auto lane = [&](std::int64_t index) {
      return reference_chain(per_lane * pixels, [&](std::int64_t k) {
        const std::int64_t n = index * per_lane + k / pixels, oy = k % pixels / s.out_w(),
                           ox = k % s.out_w();
        return std::pair(
            at(x, s.h, s.w, s.in, n, oy * s.stride + ky - s.pad, ox * s.stride + kx - s.pad, ci),
            at(dy, s.out_h(), s.out_w(), s.out, n, oy, ox, co));
      });
    };
    dw.push_back(tree_fold(0, s.n / per_lane, lane, [](float a, float b) { return a + b; }));
  }
  return dw;
}

RC_GTEST_PROP(Conv2d, IsTheBlockedChainOnEveryInstructionSetAndThreadCount, ()) {
  const Case c = random_case(70);
  const Floats x = random_floats(c.image(), c.seed), w = random_floats(c.weights(), c.seed + 1);
  const Floats bias = *rc::gen::arbitrary<bool>() ? random_floats(c.s.out, c.seed + 2) : Floats();
  const std::string where = EveryWay().differs(reference_forward(c.s, x, w, bias), [&](float* y) {
    device().conv2d(c.s, x.data(), w.data(), bias.empty() ? nullptr : bias.data(), y);
  });
  RC_LOG() << where;
  RC_ASSERT(where.empty());
}

RC_GTEST_PROP(Conv2dInputGrad, IsTheBlockedChainOnEveryInstructionSetAndThreadCount, ()) {
  const Case c = random_case(70);
  const Floats dy = random_floats(c.result(), c.seed), w = random_floats(c.weights(), c.seed + 1);
  const Floats bias = *rc::gen::arbitrary<bool>() ? random_floats(c.s.in, c.seed + 2) : Floats();
  const std::string where =
      EveryWay().differs(reference_input_grad(c.s, dy, w, bias), [&](float* dx) {
        device().conv2d_input_grad(c.s, dy.data(), w.data(), bias.empty() ? nullptr : bias.data(),
                                   dx);
      });
  RC_LOG() << where;
  RC_ASSERT(where.empty());
}

RC_GTEST_PROP(Conv2dWeightGrad, IsAChainInsideALaneAndATreeOverLanes, ()) {
  Case c = random_case(40);
  const std::int64_t per_lane = draw(1, 3);
  c.s.n = draw(1, 5) * per_lane;
  if (*rc::gen::inRange(0, 4) == 0) c.s.h = c.s.w = 20, c.s.in = 2, c.s.out = 3;  // several blocks
  const Floats x = random_floats(c.image(), c.seed), dy = random_floats(c.result(), c.seed + 1);
  const std::string where =
      EveryWay().differs(reference_weight_grad(c.s, per_lane, x, dy), [&](float* dw) {
        device().conv2d_weight_grad(c.s, {per_lane, {c.s.n / per_lane}}, x.data(), dy.data(), dw);
      });
  RC_LOG() << where;
  RC_ASSERT(where.empty());
}

// The gradient from ranks that hold the lanes [cuts[i], cuts[i+1]).
Floats over_ranks(const Case& c, std::int64_t per_lane, const std::vector<std::int64_t>& cuts,
                  const Floats& x, const Floats& dy) {
  const std::int64_t total = cuts.back(), width = c.weights();
  std::vector<Subtree> nodes;
  std::vector<Floats> partials;
  std::vector<const float*> rows;
  for (std::size_t r = 0; r + 1 < cuts.size(); ++r) {
    const std::int64_t count = cuts[r + 1] - cuts[r];
    if (count == 0) continue;
    LaneBlocks lanes{per_lane, {}};
    for (const Subtree& node : maximal_subtrees(total, cuts[r], count)) {
      nodes.push_back(node);
      lanes.lanes.push_back(node.count);
    }
    ConvShape s = c.s;
    s.n = lanes.samples();
    partials.emplace_back(size(lanes.partials() * width));
    const std::int64_t first = cuts[r] * per_lane;
    device().conv2d_weight_grad(s, lanes, x.data() + first * s.h * s.w * s.in,
                                dy.data() + first * s.out_h() * s.out_w() * s.out,
                                partials.back().data());
  }
  for (const Floats& p : partials) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(p.size()); i += width) {
      rows.push_back(p.data() + i);
    }
  }
  Floats whole(size(width));
  device().tree_sum_nodes(total, nodes, rows.data(), width, whole.data());
  return whole;
}

RC_GTEST_PROP(Conv2dWeightGrad, PartialsOfAnyRanksComposeToTheSameBits, ()) {
  Case c = random_case(10);
  const std::int64_t per_lane = draw(1, 2), total = draw(1, 11);
  c.s.n = total * per_lane;
  std::vector<std::int64_t> cuts = {0, total};
  for (std::int64_t i = draw(0, 4); i > 0; --i) cuts.push_back(draw(0, total));
  std::sort(cuts.begin(), cuts.end());
  const Floats x = random_floats(c.image(), c.seed), dy = random_floats(c.result(), c.seed + 1);
  RC_ASSERT(
      same_bits(over_ranks(c, per_lane, cuts, x, dy), over_ranks(c, per_lane, {0, total}, x, dy)));
}

// The kernels are also run at sizes that fill whole tiles, threads and caches.
TEST(Conv2d, ShapesOfARealNetworkEqualTheScalarDefinition) {
  for (const ConvShape& s :
       {ConvShape{.n = 2, .h = 28, .w = 28, .in = 32, .out = 32, .kh = 3, .kw = 3, .pad = 1},
        ConvShape{.n = 2, .h = 14, .w = 14, .in = 72, .out = 64, .kh = 3, .kw = 3, .pad = 1},
        ConvShape{
            .n = 4, .h = 14, .w = 14, .in = 32, .out = 40, .kh = 4, .kw = 4, .stride = 2, .pad = 1},
        ConvShape{.n = 1, .h = 70, .w = 75, .in = 40, .out = 1, .kh = 3, .kw = 3, .pad = 1},
        ConvShape{.n = 4, .h = 28, .w = 28, .in = 1, .out = 32, .kh = 3, .kw = 3, .pad = 1}}) {
    const Case c{s, 5};
    const Floats x = random_floats(c.image(), 1), w = random_floats(c.weights(), 2),
                 dy = random_floats(c.result(), 3);
    const LaneBlocks lanes{.samples_per_lane = 1, .lanes = {s.n}};
    Floats y(dy.size()), dx(x.size()), dw(w.size());
    use_isa(Isa::kScalar);
    device().conv2d(s, x.data(), w.data(), nullptr, y.data());
    device().conv2d_input_grad(s, dy.data(), w.data(), nullptr, dx.data());
    device().conv2d_weight_grad(s, lanes, x.data(), dy.data(), dw.data());
    for (const Isa isa : usable_isas()) {
      if (isa == Isa::kScalar) continue;
      use_isa(isa);
      Floats y1(y.size()), dx1(dx.size()), dw1(dw.size());
      device().conv2d(s, x.data(), w.data(), nullptr, y1.data());
      device().conv2d_input_grad(s, dy.data(), w.data(), nullptr, dx1.data());
      device().conv2d_weight_grad(s, lanes, x.data(), dy.data(), dw1.data());
      EXPECT_TRUE(same_bits(y, y1)) << name(isa) << " " << s.in << "-" << s.out;
      EXPECT_TRUE(same_bits(dx, dx1)) << name(isa) << " " << s.in << "-" << s.out;
      EXPECT_TRUE(same_bits(dw, dw1)) << name(isa) << " " << s.in << "-" << s.out;
    }
    use_isa(best_isa());
  }
}

TEST(Conv2d, TapsOutsideTheImageAreMultipliedNotSkipped) {
  for (const std::int64_t out : {1, 20}) {
    const ConvShape s{.n = 1, .h = 1, .w = 1, .in = 1, .out = out, .kh = 3, .kw = 1, .pad = 1};
    const Floats one(size(3 * out), 1.0F);
    Floats w(size(3 * out), 1.0F);
    w[0] = std::numeric_limits<float>::infinity();  // outside for the only pixel
    for (const Isa isa : usable_isas()) {
      use_isa(isa);
      Floats y(size(3 * out)), dx(3), dw(size(3 * out));
      device().conv2d(s, one.data(), w.data(), nullptr, y.data());
      EXPECT_TRUE(std::isnan(y[0])) << name(isa);
      device().conv2d_input_grad(s, one.data(), w.data(), nullptr, dx.data());
      EXPECT_TRUE(std::isnan(dx[0])) << name(isa);
      const Floats infinite(size(3 * out), std::numeric_limits<float>::infinity());
      device().conv2d_weight_grad(s, {1, {1}}, one.data(), infinite.data(), dw.data());
      EXPECT_TRUE(std::isnan(dw[0])) << name(isa);
    }
  }
  use_isa(best_isa());
}

TEST(Conv2dInputGrad, APixelThatNoTapMeetsIsPlusZeroAndBias) {
  const ConvShape s{.n = 1, .h = 3, .w = 3, .in = 2, .out = 1, .stride = 2};
  const Floats dy(4, 1.0F), w(2, 1.0F), bias = {5.0F, -0.0F};
  const Floats expected = {6, 1, 5, 0, 6, 1, 5, 0, 5, 0, 5, 0, 6, 1, 5, 0, 6, 1};
  EXPECT_EQ(
      EveryWay().differs(
          expected,
          [&](float* dx) { device().conv2d_input_grad(s, dy.data(), w.data(), bias.data(), dx); }),
      "");
}

}  // namespace
}  // namespace lockstep::numerics
