#include <string>

#include "conformance/device.h"
#include "conformance/document.h"

namespace lockstep::conformance {
namespace {

using namespace lockstep::numerics;

std::string by(std::int64_t a, std::int64_t b) {
  return std::to_string(a) + " x " + std::to_string(b);
}

void add_row_sums(Json& cases, std::int64_t rows, std::int64_t cols, Make make) {
  const std::string what = by(rows, cols) + ", " + name(make);
  {
    Case c(cases, "row_sums", what);
    const Floats x = c.input("x", make, {rows, cols});
    Floats out(static_cast<std::size_t>(rows));
    device().row_sums(rows, cols, x.data(), out.data());
    c.output("out", out);
  }
  {
    Case c(cases, "row_dots", what);
    const Floats a = c.input("a", make, {rows, cols});
    const Floats b = c.input("b", Make::kWide, {rows, cols});
    Floats out(static_cast<std::size_t>(rows));
    device().row_dots(rows, cols, a.data(), b.data(), out.data());
    c.output("out", out);
  }
  Case c(cases, "row_squared_distances", what);
  const Floats a = c.input("a", make, {rows, cols}), b = c.input("b", make, {rows, cols});
  Floats out(static_cast<std::size_t>(rows));
  device().row_squared_distances(rows, cols, a.data(), b.data(), out.data());
  c.output("out", out);
}

// Chains of one product: is it added to +0, is a factor of zero left out?
void add_pair_dots(Json& cases) {
  Case c(cases, "row_dots", "every pair of specials");
  const auto k = static_cast<std::int64_t>(specials().size());
  const Floats a = c.each("a", k, {k * k, 1}), b = c.input("b", Make::kSpecials, {k * k, 1});
  Floats out(a.size());
  device().row_dots(k * k, 1, a.data(), b.data(), out.data());
  c.output("out", out);
}

void add_spatial_and_tiles(Json& cases) {
  for (const std::int64_t spatial : {1, 9, 600}) {
    Case c(cases, "spatial_sums", "2 x " + by(spatial, 19));
    const Floats x = c.input("x", Make::kWide, {2, spatial, 19});
    Floats out(2 * 19);
    device().spatial_sums(2, spatial, 19, x.data(), out.data());
    c.output("out", out);
  }
  Case c(cases, "tile_squares", "10000 elements");
  const Floats x = c.input("x", Make::kWide, {10000});
  Floats out(3);
  device().tile_squares(std::vector<std::span<const float>>{x}, out.data());
  c.output("out", out);
}

// Samples per lane, lanes of each partial.
void add_lane_sums(Json& cases, std::int64_t per_lane, const std::vector<std::int64_t>& lanes,
                   std::int64_t rows, std::int64_t cols) {
  const LaneBlocks blocks{per_lane, lanes};
  const std::string what = std::to_string(blocks.lane_count()) + " lanes of " +
                           by(per_lane * rows, cols) + ", " + std::to_string(lanes.size()) +
                           (lanes.size() == 1 ? " partial" : " partials");
  const auto describe = [&](Case& c) {
    c.parameter("samples_per_lane", per_lane);
    c.parameter("lanes_of_partials", lanes);
    c.parameter("rows_per_sample", rows);
  };
  const std::int64_t total = blocks.samples() * rows;
  const auto size = static_cast<std::size_t>(blocks.partials() * cols);
  {
    Case c(cases, "lane_column_sums", what);
    describe(c);
    const Floats x = c.input("x", Make::kWide, {total, cols});
    Floats out(size);
    device().lane_column_sums(blocks, rows, cols, x.data(), out.data());
    c.output("out", out);
  }
  Case c(cases, "linear_weight_grad", what);
  describe(c);
  constexpr std::int64_t kIn = 3;
  const Floats x = c.input("x", Make::kWide, {total, kIn});
  const Floats dy = c.input("dy", Make::kSparse, {total, cols});
  Floats dw(size * kIn);
  device().linear_weight_grad(blocks, rows, kIn, cols, x.data(), dy.data(), dw.data());
  c.output("dw", dw);
}

struct Product {
  const char* what;
  std::int64_t batch, m, n, depth;
  bool bias;
  Make a, bias_values = Make::kWide;
};

void add_gemm(Json& cases, const Product& p) {
  Case c(cases, "matrix_product", p.what);
  const Floats a = c.input("a", p.a, {p.batch, p.m, p.depth});
  const Floats b = c.input("b", Make::kWide, {p.batch, p.depth, p.n});
  const Floats bias = p.bias ? c.input("bias", p.bias_values, {p.n}) : Floats{};
  Floats out(static_cast<std::size_t>(p.batch * p.m * p.n));
  device().gemm(p.batch, p.m, p.n, p.depth, {a.data(), p.depth, 1, p.m * p.depth},
                {b.data(), p.n, 1, p.depth * p.n}, p.bias ? bias.data() : nullptr,
                {out.data(), p.n, p.m * p.n});
  c.output("c", out);
}

void add_softmax(Json& cases, std::int64_t rows, std::int64_t cols, Make make) {
  const std::string what = by(rows, cols) + ", " + name(make);
  Floats y(static_cast<std::size_t>(rows * cols));
  {
    Case c(cases, "softmax", what);
    const float scale = c.parameter("scale", 0x1.6a09e6p-3f);
    const Floats x = c.input("x", make, {rows, cols});
    device().softmax(rows, cols, scale, x.data(), y.data());
    c.output("y", y);
  }
  Case c(cases, "softmax_backward", what);
  const float scale = c.parameter("scale", 0x1.6a09e6p-3f);
  const Floats p = c.input("y", Make::kPositive, {rows, cols});
  const Floats dy = c.input("dy", make, {rows, cols});
  Floats dx(p.size());
  device().softmax_backward(rows, cols, scale, p.data(), dy.data(), dx.data());
  c.output("dx", dx);
}

void add_upsample(Json& cases, std::int64_t h, std::int64_t w, std::int64_t oh, std::int64_t ow,
                  Make make = Make::kSparse) {
  const std::string what =
      by(h, w) + " to " + by(oh, ow) + (make == Make::kSpecials ? ", special values" : "");
  {
    Case c(cases, "upsample_nearest", what);
    const Floats x = c.input("x", make, {2, h, w, 5});
    c.parameter("size", Shape{oh, ow});
    Floats y(static_cast<std::size_t>(2 * oh * ow * 5));
    device().upsample_nearest(2, h, w, 5, oh, ow, x.data(), y.data());
    c.output("y", y);
  }
  Case c(cases, "upsample_nearest_backward", what);
  c.parameter("size", Shape{h, w});
  const Floats dy = c.input("dy", make, {2, oh, ow, 5});
  Floats dx(static_cast<std::size_t>(2 * h * w * 5));
  device().upsample_nearest_backward(2, h, w, 5, oh, ow, dy.data(), dx.data());
  c.output("dx", dx);
}

}  // namespace

void add_chain_cases(Json& cases) {
  for (const std::int64_t cols : {1, 17, 512, 513, 1100}) add_row_sums(cases, 5, cols, Make::kWide);
  add_row_sums(cases, 37, 3, Make::kSparse);
  add_row_sums(cases, 16, 3, Make::kSpecials);
  add_row_sums(cases, 46, 1, Make::kSpecials);
  add_pair_dots(cases);
  add_spatial_and_tiles(cases);
  add_lane_sums(cases, 1, {1}, 3, 37);
  add_lane_sums(cases, 2, {3, 1}, 5, 19);
  add_lane_sums(cases, 3, {4, 2, 1}, 200, 5);
  add_gemm(cases, {"7 x 5 by 5 x 3", 1, 7, 3, 5, false, Make::kWide});
  add_gemm(cases, {"17 x 40 by 40 x 35, bias", 1, 17, 35, 40, true, Make::kSparse});
  add_gemm(cases, {"3 batches of 5 x 9 by 9 x 20", 3, 5, 20, 9, false, Make::kWide});
  add_gemm(cases, {"9 x 1100 by 1100 x 18, bias", 1, 9, 18, 1100, true, Make::kWide});
  add_gemm(cases, {"4 x 0 by 0 x 6, bias", 1, 4, 6, 0, true, Make::kWide});
  add_gemm(cases, {"4 x 0 by 0 x 46, bias of special values", 1, 4, 46, 0, true, Make::kWide,
                   Make::kSpecials});
  add_gemm(cases, {"special values", 1, 16, 18, 3, false, Make::kSpecials});
  add_softmax(cases, 7, 1, Make::kWide);
  add_softmax(cases, 5, 49, Make::kUnit);
  add_softmax(cases, 3, 600, Make::kWide);
  add_softmax(cases, 16, 3, Make::kSpecials);
  add_upsample(cases, 3, 4, 6, 8);
  add_upsample(cases, 5, 3, 7, 11);
  add_upsample(cases, 1, 1, 23, 27);  // a chain longer than a block
  add_upsample(cases, 5, 3, 5, 3, Make::kSpecials);
}

}  // namespace lockstep::conformance
