#include <string>

#include "conformance/device.h"
#include "conformance/document.h"

namespace lockstep::conformance {
namespace {

using namespace lockstep::numerics;

constexpr Make kMakes[] = {Make::kBits, Make::kWide, Make::kSpecials};
constexpr float kSlope = 0x1.99999ap-3f;

std::int64_t elements(Make make) {
  return make == Make::kSpecials ? static_cast<std::int64_t>(specials().size()) : 1021;
}

void add_unary(Json& cases, Make make) {
  const std::int64_t n = elements(make);
  for (const Unary op : kEveryUnary) {
    Case c(cases, name(op), name(make));
    const Floats x = c.input("x", make, {n});
    Floats y(x.size());
    device().unary(op, n, x.data(), y.data());
    c.output("y", y);
  }
  Case c(cases, "leaky_relu", name(make));
  const float slope = c.parameter("slope", kSlope);
  const Floats x = c.input("x", make, {n});
  Floats y(x.size());
  device().leaky_relu(n, slope, x.data(), y.data());
  c.output("y", y);
}

void add_unary_backward(Json& cases, Make make) {
  const std::int64_t n = elements(make);
  for (const Unary op : kEveryUnary) {
    Case c(cases, std::string(name(op)) + "_backward", name(make));
    const Floats x = c.input("x", make, {n});
    const Floats dy = c.input("dy", Make::kSparse, {n});
    Floats dx(x.size());
    device().unary_backward(op, n, x.data(), dy.data(), dx.data());
    c.output("dx", dx);
  }
  Case c(cases, "leaky_relu_backward", name(make));
  const float slope = c.parameter("slope", kSlope);
  const Floats x = c.input("x", make, {n});
  const Floats dy = c.input("dy", Make::kSparse, {n});
  Floats dx(x.size());
  device().leaky_relu_backward(n, slope, x.data(), dy.data(), dx.data());
  c.output("dx", dx);
}

void add_binary(Json& cases) {
  constexpr std::pair<const char*, Binary> kBinary[] = {{"add", Binary::kAdd},
                                                        {"subtract", Binary::kSubtract},
                                                        {"multiply", Binary::kMultiply},
                                                        {"divide", Binary::kDivide}};
  for (const auto& [operation, op] : kBinary) {
    {
      Case c(cases, operation, "bits");
      const Floats a = c.input("a", Make::kBits, {4093}), b = c.input("b", Make::kBits, {4093});
      Floats y(a.size());
      device().binary(op, 4093, a.data(), b.data(), y.data());
      c.output("y", y);
    }
    Case c(cases, operation, "every pair of specials");
    const auto k = static_cast<std::int64_t>(specials().size());
    const Floats a = c.each("a", k), b = c.input("b", Make::kSpecials, {k * k});
    Floats y(a.size());
    device().binary(op, k * k, a.data(), b.data(), y.data());
    c.output("y", y);
  }
}

void add_scaled(Json& cases, Make make) {
  const std::int64_t n = elements(make);
  {
    Case c(cases, "scale", name(make));
    const float factor = c.parameter("factor", 0x1.555556p-2f);
    const Floats x = c.input("x", make, {n});
    Floats y(x.size());
    device().scale(n, factor, x.data(), y.data());
    c.output("out", y);
  }
  {
    Case c(cases, "scale_add", name(make));
    const float factor = c.parameter("factor", -0x1.99999ap-4f);
    const Floats x = c.input("x", make, {n}), y = c.input("y", Make::kSparse, {n});
    Floats out(x.size());
    device().scale_add(n, factor, x.data(), y.data(), out.data());
    c.output("out", out);
  }
  {
    Case c(cases, "combine", name(make));
    const float a = c.parameter("a", 0x1.fae148p-1f), b = c.parameter("b", -0x1.99999ap-3f);
    const Floats x = c.input("x", make, {n}), y = c.input("y", Make::kSparse, {n});
    Floats out(x.size());
    device().combine(n, a, x.data(), b, y.data(), out.data());
    c.output("out", out);
  }
  Case c(cases, "clamp", name(make));
  const float low = c.parameter("low", -1.0f), high = c.parameter("high", 0x1.8p0f);
  const Floats x = c.input("x", make, {n});
  Floats out(x.size());
  device().clamp(n, low, high, x.data(), out.data());
  c.output("out", out);
}

void add_rows(Json& cases) {
  Case c(cases, "scale_rows", "13 x 37");
  const Floats x = c.input("x", Make::kSparse, {13, 37}), v = c.input("v", Make::kSparse, {13});
  Floats out(x.size());
  device().scale_rows(13, 37, x.data(), v.data(), out.data());
  c.output("out", out);
}

// What mixes pictures with noise, and spectral norm's correction of a gradient.
void add_rows_of_factors(Json& cases) {
  for (const Make make : {Make::kSparse, Make::kBits}) {
    Case c(cases, "combine_rows", std::string("13 x 37, ") + name(make));
    const Floats x = c.input("x", make, {13, 37}), y = c.input("y", Make::kSparse, {13, 37});
    const Floats a = c.input("a", Make::kUnit, {13}), b = c.input("b", Make::kUnit, {13});
    Floats out(x.size());
    device().combine_rows(13, 37, a.data(), x.data(), b.data(), y.data(), out.data());
    c.output("out", out);
  }
  for (const Make make : {Make::kSparse, Make::kBits}) {
    Case c(cases, "add_outer", std::string("13 x 37, ") + name(make));
    const Floats x = c.input("x", make, {13, 37});
    const Floats u = c.input("u", Make::kSparse, {13}), v = c.input("v", Make::kSparse, {37});
    Floats out(x.size());
    device().add_outer(13, 37, u.data(), v.data(), x.data(), out.data());
    c.output("out", out);
  }
}

void add_repeat(Json& cases) {
  struct Repeat {
    std::int64_t n, times, width;
  };
  for (const Repeat r : {Repeat{5, 3, 19}, {17, 4, 1}, {1, 6, 11}}) {
    Case c(cases, "repeat",
           std::to_string(r.n) + " x " + std::to_string(r.width) + ", each " +
               std::to_string(r.times) + " times");
    c.parameter("times", r.times);
    const Floats x = c.input("x", Make::kSparse, {r.n, r.width});
    Floats out(x.size() * static_cast<std::size_t>(r.times));
    device().repeat(r.n, r.times, r.width, x.data(), out.data());
    c.output("out", out);
  }
}

void add_time_embedding(Json& cases) {
  const auto add = [&](Case& c, const Floats& t, std::int64_t width) {
    Floats out(t.size() * static_cast<std::size_t>(width));
    device().time_embedding(static_cast<std::int64_t>(t.size()), width, t.data(), out.data());
    c.output("out", out);
  };
  for (const std::int64_t width : {2, 6, 128}) {
    Case c(cases, "time_embedding", "steps, width " + std::to_string(width));
    c.parameter("width", width);
    add(c, c.literal("t", {0x00000000, 0x3f800000, 0x40000000, 0x42140000, 0x447a0000, 0x4479c000}),
        width);  // 0, 1, 2, 37, 1000, 999
  }
  Case c(cases, "time_embedding", "wide, width 32");
  c.parameter("width", 32);
  add(c, c.input("t", Make::kWide, {61}), 32);
}

void add_bytes(Json& cases) {
  {
    Case c(cases, "from_bytes", "every byte");
    const auto x = c.bytes("x", 256);
    Floats out(256);
    device().from_bytes(256, x.data(), out.data());
    c.output("out", out);
  }
  for (const Make make : {Make::kUnit, Make::kWide, Make::kSpecials}) {
    Case c(cases, "to_bytes", name(make));
    const std::int64_t n = elements(make);
    const Floats x = c.input("x", make, {n});
    std::vector<std::uint8_t> out(x.size());
    device().to_bytes(n, x.data(), out.data());
    c.output("out", out);
  }
  // Where the value before cutting is next to an integer.
  Case c(cases, "to_bytes", "borders of bytes");
  const Floats x = c.literal("x", {0xbf800000, 0xbf7f7f7f, 0xbf7efefe, 0xbf7efeff, 0xbb808081,
                                   0xbb808080, 0x3b808081, 0x3b808080, 0x3c008081, 0x3f7efeff,
                                   0x3f7f7f7f, 0x3f7f7f80, 0x3f7fffff, 0x3f800000, 0xbf7cfcfd});
  std::vector<std::uint8_t> out(x.size());
  device().to_bytes(static_cast<std::int64_t>(x.size()), x.data(), out.data());
  c.output("out", out);
}

// Results that come out wrong when a product is rounded before the sum, or to binary64 first.
void add_rounded_twice(Json& cases) {
  struct Sum {
    const char* what;
    float factor;
    std::vector<std::uint32_t> x, y;
  };
  const Sum sums[] = {
      {"beside a middle", 0x1.000002p0f, {0x337ffffe, 0xb37ffffe}, {0x3f800001, 0xbf800001}},
      {"beside the overflow", 0x1.231cp66f, {0x5e612000, 0xde612000}, {0xdd800000, 0x5d800000}}};
  for (const Sum& sum : sums) {
    Case c(cases, "scale_add", sum.what);
    const float factor = c.parameter("factor", sum.factor);
    const Floats x = c.literal("x", sum.x), y = c.literal("y", sum.y);
    Floats out(2);
    device().scale_add(2, factor, x.data(), y.data(), out.data());
    c.output("out", out);
  }
  struct Hard {
    const char* function;
    Unary op;
    std::vector<std::uint32_t> x;
  };
  const Hard functions[] = {
      {"log", Unary::kLog, {0x3c413d3a, 0x41178feb, 0x4c5d65a5, 0x65d890d3, 0x6f31a8ec}},
      {"sin", Unary::kSin, {0x46199998, 0xc6199998}},
      {"cos", Unary::kCos, {0x5f18b878, 0x6115cb11}}};
  for (const Hard& hard : functions) {
    Case c(cases, hard.function, "beside a middle");
    const Floats x = c.literal("x", hard.x);
    Floats y(x.size());
    device().unary(hard.op, static_cast<std::int64_t>(x.size()), x.data(), y.data());
    c.output("y", y);
  }
}

}  // namespace

void add_function_cases(Json& cases) {
  for (const Make make : kMakes) {
    add_unary(cases, make);
    add_unary_backward(cases, make);
  }
}

void add_elementwise_cases(Json& cases) {
  add_binary(cases);
  for (const Make make : kMakes) add_scaled(cases, make);
  add_rows(cases);
  add_rows_of_factors(cases);
  add_repeat(cases);
  add_time_embedding(cases);
  add_bytes(cases);
  add_rounded_twice(cases);
}

}  // namespace lockstep::conformance
