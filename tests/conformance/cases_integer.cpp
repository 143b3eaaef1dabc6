#include "conformance/device.h"
#include "conformance/document.h"

namespace lockstep::conformance {
namespace {

using namespace lockstep::numerics;

// What round_groups makes of x.
struct Integers {
  Integers(std::int64_t groups, const Floats& x, std::int64_t c)
      : q(x.size()), exponents(static_cast<std::size_t>(groups)) {
    const auto rows = static_cast<std::int64_t>(x.size()) / c;
    device().round_groups(groups, rows / groups, c, x.data(), q.data(), exponents.data());
  }
  operator Rounded() const { return {q.data(), exponents.data()}; }

  std::vector<std::int16_t> q;
  std::vector<std::int32_t> exponents;
};

void add_rounding(Case& c, std::int64_t groups, const Floats& x) {
  const auto n = static_cast<std::int64_t>(x.size()) / groups;
  const Integers integers(groups, x, n);
  std::vector<std::int16_t> q(x.size());
  device().plain_integers(groups, n, integers.q.data(), q.data());
  c.output("q", std::vector<std::int64_t>(q.begin(), q.end()));
  c.output("exponents",
           std::vector<std::int64_t>(integers.exponents.begin(), integers.exponents.end()));
}

struct Layer {
  const char* what;
  ConvShape s;
  LaneBlocks lanes;
  Make x = Make::kWide, w = Make::kUnit, dy = Make::kSparse;
};

void describe(Case& c, const ConvShape& s) {
  c.parameter("stride", s.stride);
  c.parameter("pad", s.pad);
}

void add_layer(Json& cases, const Layer& layer) {
  const ConvShape& s = layer.s;
  const Shape image = {s.n, s.h, s.w, s.in};
  const Shape result = {s.n, s.out_h(), s.out_w(), s.out};
  const Shape weights = {s.kh, s.kw, s.in, s.out};
  {
    Case c(cases, "integer_convolution", layer.what);
    describe(c, s);
    const Floats x = c.input("x", layer.x, image), w = c.input("w", layer.w, weights);
    const Floats bias = c.input("bias", Make::kWide, {s.out});
    Floats y(static_cast<std::size_t>(count(result)));
    device().integer_conv2d(s, Integers(s.n, x, s.in), Integers(1, w, s.out), bias.data(),
                            y.data());
    c.output("y", y);
  }
  {
    Case c(cases, "integer_convolution_input_grad", layer.what);
    describe(c, s);
    c.parameter("size", Shape{s.h, s.w});
    const Floats dy = c.input("dy", layer.dy, result), w = c.input("w", layer.w, weights);
    Floats dx(static_cast<std::size_t>(count(image)));
    device().integer_conv2d_input_grad(s, Integers(s.n, dy, s.out), Integers(1, w, s.out), nullptr,
                                       dx.data());
    c.output("dx", dx);
  }
  Case c(cases, "integer_convolution_weight_grad", layer.what);
  describe(c, s);
  c.parameter("kernel", Shape{s.kh, s.kw});
  c.parameter("samples_per_lane", layer.lanes.samples_per_lane);
  c.parameter("lanes_of_partials", layer.lanes.lanes);
  const Floats x = c.input("x", layer.x, image), dy = c.input("dy", layer.dy, result);
  Floats dw(static_cast<std::size_t>(layer.lanes.partials() * count(weights)));
  device().integer_conv2d_weight_grad(s, layer.lanes, Integers(s.n, x, s.in),
                                      Integers(s.n, dy, s.out), dw.data());
  c.output("dw", dw);
}

}  // namespace

void add_integer_cases(Json& cases) {
  {
    Case c(cases, "round_groups", "three groups of 21 values");
    add_rounding(c, 3, c.input("x", Make::kUnit, {3, 21}));
  }
  {
    Case c(cases, "round_groups", "small values beside large ones, zeros");
    add_rounding(c, 2, c.input("x", Make::kSparse, {2, 300}));
  }
  {
    Case c(cases, "round_groups", "ties");
    add_rounding(c, 2,
                 c.literal("x",
                           {0x44800000, 0x44801000, 0x3f000000, 0x3fc00000, 0xbf000000, 0xc0200000,
                            0x3f800000, 0x3a000000, 0x3a400000, 0xba000000, 0xbac00000, 0x3b200000},
                           {2, 6}));
  }
  {
    // 2047.99, 2047.75 (both clamped), 2047.25; 1.999 and the largest float.
    Case c(cases, "round_groups", "largest values");
    add_rounding(c, 3,
                 c.literal("x",
                           {0x44fffd71, 0xc4fffd71, 0x44fff800, 0xc4fff800, 0x44ffe800, 0xc4ffe800,
                            0x3ffffff0, 0xbffffff0, 0x3f800000, 0xbf800000, 0x3fffe000, 0xbfffe000,
                            0x7f7fffff, 0xff7fffff, 0x7f000000, 0x3f800000, 0x00000000, 0x7a810000},
                           {3, 6}));
  }
  {
    // About 2^-116, 2^-117 and 2^-126: the exponent's floor; only zeros.
    Case c(cases, "round_groups", "small groups");
    add_rounding(
        c, 4,
        c.literal("x", {0x05800000, 0x05000000, 0x00800000, 0x80000001, 0x05f80000, 0x85ffffff,
                        0x05000000, 0x04800000, 0x00000001, 0x84f00000, 0x80000000, 0x047fffff,
                        0x00800000, 0x007fffff, 0x00000001, 0x80800000, 0x80000001, 0x00000000,
                        0x00000000, 0x80000000, 0x00000000, 0x80000000, 0x00000000, 0x00000000},
                  {4, 6}));
  }
  {
    Case c(cases, "round_groups", "special values, one a group");
    const auto groups = static_cast<std::int64_t>(specials().size());
    add_rounding(c, groups, c.input("x", Make::kSpecials, {groups, 1}));
  }
  const Layer layers[] = {
      {"3 x 3, 12 to 20 channels",
       {.n = 2, .h = 7, .w = 9, .in = 12, .out = 20, .kh = 3, .kw = 3, .pad = 1},
       {1, {2}},
       Make::kUnit},
      {"1 x 1, 3 to 2 channels", {.n = 1, .h = 2, .w = 2, .in = 3, .out = 2}, {1, {1}}},
      {"samples of unlike sizes", {.n = 5, .h = 1, .w = 2, .in = 2, .out = 3}, {1, {4, 1}}},
      {"one sample", {.n = 1, .h = 1, .w = 2, .in = 2, .out = 3}, {1, {1}}},
      {"lanes of three samples",
       {.n = 6, .h = 6, .w = 6, .in = 5, .out = 6, .kh = 3, .kw = 3, .pad = 1},
       {3, {2}},
       Make::kPositive,
       Make::kUnit,
       Make::kPositive},
      {"lanes of one sample",
       {.n = 2, .h = 6, .w = 6, .in = 5, .out = 6, .kh = 3, .kw = 3, .pad = 1},
       {1, {2}},
       Make::kPositive,
       Make::kUnit,
       Make::kPositive},
      {"3 x 3, 65 to 9 channels, more than 512 products",
       {.n = 2, .h = 4, .w = 5, .in = 65, .out = 9, .kh = 3, .kw = 3, .pad = 1},
       {2, {1}}},
      {"4 x 4, stride 2, 9 to 17 channels, two partials",
       {.n = 4, .h = 8, .w = 6, .in = 9, .out = 17, .kh = 4, .kw = 4, .stride = 2, .pad = 1},
       {2, {1, 1}}},
      {"1 x 1, 33 to 18 channels, three samples a lane",
       {.n = 3, .h = 5, .w = 5, .in = 33, .out = 18},
       {3, {1}}},
      {"1 x 1, stride 2: pixels that no tap meets",
       {.n = 1, .h = 5, .w = 7, .in = 8, .out = 10, .stride = 2},
       {1, {1}}},
      {"2 x 3, no padding, weight gradient over 600 positions",
       {.n = 2, .h = 26, .w = 26, .in = 2, .out = 3, .kh = 2, .kw = 3},
       {1, {2}}},
      {"any bits: results of all sizes, subnormal, infinite, NaN",
       {.n = 24, .h = 1, .w = 2, .in = 2, .out = 3},
       {1, {24}},
       Make::kBits,
       Make::kUnit,
       Make::kBits},
      {"special values, special weights",
       {.n = 40, .h = 1, .w = 1, .in = 1, .out = 2},
       {1, {8, 32}},
       Make::kSpecials,
       Make::kUnit,
       Make::kSpecials}};
  for (const Layer& layer : layers) add_layer(cases, layer);

  Case c(cases, "integer_convolution_input_grad", "with bias: a transposed convolution");
  const ConvShape s{
      .n = 2, .h = 8, .w = 8, .in = 18, .out = 11, .kh = 4, .kw = 4, .stride = 2, .pad = 1};
  describe(c, s);
  c.parameter("size", Shape{s.h, s.w});
  const Floats dy = c.input("dy", Make::kSparse, {s.n, s.out_h(), s.out_w(), s.out});
  const Floats w = c.input("w", Make::kUnit, {s.kh, s.kw, s.in, s.out});
  const Floats bias = c.input("bias", Make::kWide, {s.in});
  Floats dx(static_cast<std::size_t>(s.n * s.h * s.w * s.in));
  device().integer_conv2d_input_grad(s, Integers(s.n, dy, s.out), Integers(1, w, s.out),
                                     bias.data(), dx.data());
  c.output("dx", dx);
}

}  // namespace lockstep::conformance
