#include "conformance/device.h"
#include "conformance/document.h"

namespace lockstep::conformance {
namespace {

using namespace lockstep::numerics;

struct Layer {
  const char* what;
  ConvShape s;
  LaneBlocks lanes;
  Make x = Make::kWide, w = Make::kWide, dy = Make::kSparse;
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
    Case c(cases, "convolution", layer.what);
    describe(c, s);
    const Floats x = c.input("x", layer.x, image), w = c.input("w", layer.w, weights);
    const Floats bias = c.input("bias", Make::kWide, {s.out});
    Floats y(static_cast<std::size_t>(count(result)));
    device().conv2d(s, x.data(), w.data(), bias.data(), y.data());
    c.output("y", y);
  }
  {
    Case c(cases, "convolution_input_grad", layer.what);
    describe(c, s);
    c.parameter("size", Shape{s.h, s.w});
    const Floats dy = c.input("dy", layer.x, result), w = c.input("w", layer.w, weights);
    Floats dx(static_cast<std::size_t>(count(image)));
    device().conv2d_input_grad(s, dy.data(), w.data(), nullptr, dx.data());
    c.output("dx", dx);
  }
  Case c(cases, "convolution_weight_grad", layer.what);
  describe(c, s);
  c.parameter("kernel", Shape{s.kh, s.kw});
  c.parameter("samples_per_lane", layer.lanes.samples_per_lane);
  c.parameter("lanes_of_partials", layer.lanes.lanes);
  const Floats x = c.input("x", layer.x, image), dy = c.input("dy", layer.dy, result);
  Floats dw(static_cast<std::size_t>(layer.lanes.partials() * count(weights)));
  device().conv2d_weight_grad(s, layer.lanes, x.data(), dy.data(), dw.data());
  c.output("dw", dw);
}

}  // namespace

void add_conv_cases(Json& cases) {
  const Layer layers[] = {
      {"3 x 3, 12 to 20 channels",
       {.n = 2, .h = 7, .w = 9, .in = 12, .out = 20, .kh = 3, .kw = 3, .pad = 1},
       {1, {2}}},
      {"3 x 3, 65 to 3 channels, two blocks",
       {.n = 1, .h = 4, .w = 5, .in = 65, .out = 3, .kh = 3, .kw = 3, .pad = 1},
       {1, {1}}},
      {"4 x 4, stride 2, 3 to 17 channels",
       {.n = 2, .h = 8, .w = 6, .in = 3, .out = 17, .kh = 4, .kw = 4, .stride = 2, .pad = 1},
       {1, {1, 1}}},
      {"3 x 3, stride 2, 5 to 1 channel, odd size",
       {.n = 3, .h = 7, .w = 5, .in = 5, .out = 1, .kh = 3, .kw = 3, .stride = 2, .pad = 1},
       {1, {2, 1}}},
      {"1 x 1, 33 to 18 channels", {.n = 2, .h = 5, .w = 5, .in = 33, .out = 18}, {2, {1}}},
      {"1 x 1, stride 2: pixels that no tap meets",
       {.n = 1, .h = 5, .w = 4, .in = 2, .out = 3, .stride = 2},
       {1, {1}}},
      {"2 x 3, no padding, 1 channel, weight gradient of two blocks",
       {.n = 4, .h = 19, .w = 20, .in = 1, .out = 2, .kh = 2, .kw = 3},
       {2, {2}}},
      {"special values",
       {.n = 1, .h = 6, .w = 4, .in = 2, .out = 9, .kh = 3, .kw = 3, .pad = 1},
       {1, {1}},
       Make::kSpecials},
      {"4 x 4, stride 2, special weights and gradients",
       {.n = 1, .h = 6, .w = 8, .in = 3, .out = 5, .kh = 4, .kw = 4, .stride = 2, .pad = 1},
       {1, {1}},
       Make::kWide,
       Make::kSpecials,
       Make::kSpecials},
      {"3 x 3, stride 2, special weights and gradients",
       {.n = 1, .h = 5, .w = 6, .in = 3, .out = 5, .kh = 3, .kw = 3, .stride = 2, .pad = 1},
       {1, {1}},
       Make::kWide,
       Make::kSpecials,
       Make::kSpecials}};
  for (const Layer& layer : layers) add_layer(cases, layer);

  Case c(cases, "convolution_input_grad", "with bias: a transposed convolution");
  const ConvShape s{
      .n = 2, .h = 8, .w = 8, .in = 18, .out = 7, .kh = 4, .kw = 4, .stride = 2, .pad = 1};
  describe(c, s);
  c.parameter("size", Shape{s.h, s.w});
  const Floats dy = c.input("dy", Make::kSparse, {s.n, s.out_h(), s.out_w(), s.out});
  const Floats w = c.input("w", Make::kWide, {s.kh, s.kw, s.in, s.out});
  const Floats bias = c.input("bias", Make::kWide, {s.in});
  Floats dx(static_cast<std::size_t>(s.n * s.h * s.w * s.in));
  device().conv2d_input_grad(s, dy.data(), w.data(), bias.data(), dx.data());
  c.output("dx", dx);
}

}  // namespace lockstep::conformance
