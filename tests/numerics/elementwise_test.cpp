#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>

#include "lockstep/core/error.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/numerics/spec/scalar.h"
#include "numerics/device.h"
#include "numerics/with_isa.h"

namespace lockstep::numerics {
namespace {

using Floats = std::vector<float>;

using Scalar = float (*)(float);

struct UnaryCase {
  Unary op;
  Scalar value, derivative;
};

const UnaryCase kUnary[] = {
#define LOCKSTEP_ROW(function, derivative, Function, Derivative) \
  {Unary::k##Function, scalar::function, scalar::derivative},
    LOCKSTEP_UNARY(LOCKSTEP_ROW)
#undef LOCKSTEP_ROW
};

float canonical(float x) {
  return x == x ? x : std::bit_cast<float>(0x7fc00000u);
}

// Any float, with zeros, infinities, NaNs and moderate values more often than chance gives.
rc::Gen<float> any_float() {
  return rc::gen::map(
      rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::arbitrary<std::uint32_t>()),
      [](std::pair<int, std::uint32_t> draw) {
        const auto [kind, bits] = draw;
        const std::uint32_t specials[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                          0x7fc00001, 0x7f800001, 1,          0x3f800000};
        if (kind == 0) return std::bit_cast<float>(specials[bits % 8]);
        if (kind < 5) return std::ldexp(static_cast<float>(static_cast<std::int32_t>(bits)), -28);
        return std::bit_cast<float>(bits);
      });
}

std::vector<float> draw_floats(std::size_t n) {
  return *rc::gen::container<std::vector<float>>(n, any_float());
}

using Run = std::function<void(std::vector<float>& out)>;

std::string describe(std::int64_t at, const std::vector<float>& out,
                     const std::vector<float>& expected) {
  const auto i = static_cast<std::size_t>(at);
  char text[100];
  std::snprintf(text, sizeof text, "%s: element %zu is %08x, should be %08x",
                name(cpu().isa()).data(), i, bits_of(out[i]), bits_of(expected[i]));
  return text;
}

// `run` on every Isa and 1, 2, 7 threads gives these bits.
void expect_bits_everywhere(const std::vector<float>& reference, const Run& run) {
  with_every_isa([&] {
    for (const int count : {1, 2, 7}) {
      use_threads(count);
      std::vector<float> out(reference.size());
      run(out);
      use_threads(1);
      const std::int64_t at = first_difference(out, reference);
      if (at >= 0) RC_FAIL(describe(at, out, reference));
    }
  });
}

// The same for `expected(i)`, with the one NaN.
template <class Expected>
void expect_everywhere(std::size_t n, const Run& run, Expected expected) {
  std::vector<float> reference(n);
  for (std::size_t i = 0; i < n; ++i) reference[i] = canonical(expected(i));
  expect_bits_everywhere(reference, run);
}

// As many as any shape needs, from a few that are drawn.
std::vector<float> draw_many_floats(std::size_t n) {
  const std::vector<float> drawn = draw_floats(97);
  std::mt19937_64 engine(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<float> values(n);
  for (float& v : values) v = drawn[engine() % drawn.size()];
  return values;
}

struct Matrix {
  std::size_t rows, cols;
};

// Mostly small, none at all among them; sometimes so large that threads share its rows.
Matrix draw_matrix() {
  const auto large = *rc::gen::element<std::size_t>(0, 0, 0, 0, 0, 1, 2, 3);
  if (large == 1) return {*rc::gen::inRange<std::size_t>(2, 5), 17001};
  if (large == 2) return {*rc::gen::inRange<std::size_t>(200, 400), 131};
  if (large == 3) return {*rc::gen::inRange<std::size_t>(33000, 34000), 1};
  return {*rc::gen::inRange<std::size_t>(0, 7), *rc::gen::inRange<std::size_t>(0, 40)};
}

std::int64_t ssize(const std::vector<float>& v) {
  return static_cast<std::int64_t>(v.size());
}

RC_GTEST_PROP(Elementwise, UnaryIsTheScalarDefinition, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(0, 100);
  const std::vector<float> x = draw_floats(n), dy = draw_floats(n);
  for (const UnaryCase& c : kUnary) {
    RC_LOG() << "op " << static_cast<int>(c.op) << "\n";
    expect_everywhere(
        n, [&](Floats& out) { device().unary(c.op, ssize(x), x.data(), out.data()); },
        [&](std::size_t i) { return c.value(x[i]); });
    expect_everywhere(
        n,
        [&](Floats& out) {
          device().unary_backward(c.op, ssize(x), x.data(), dy.data(), out.data());
        },
        [&](std::size_t i) { return dy[i] * c.derivative(x[i]); });
  }
}

RC_GTEST_PROP(Elementwise, BinaryAndScaledFormsAreTheScalarDefinition, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(0, 100);
  const std::vector<float> x = draw_floats(n), y = draw_floats(n);
  const float a = *any_float(), b = *any_float();
  const auto check = [&](const Run& run, const std::function<float(std::size_t)>& expected) {
    expect_everywhere(n, run, expected);
  };
  const std::int64_t size = ssize(x);
  const auto op = [&](Binary which) {
    return [&, which](std::vector<float>& out) {
      device().binary(which, size, x.data(), y.data(), out.data());
    };
  };
  check(op(Binary::kAdd), [&](std::size_t i) { return x[i] + y[i]; });
  check(op(Binary::kSubtract), [&](std::size_t i) { return x[i] - y[i]; });
  check(op(Binary::kMultiply), [&](std::size_t i) { return x[i] * y[i]; });
  check(op(Binary::kDivide), [&](std::size_t i) { return x[i] / y[i]; });
  check([&](Floats& out) { device().scale(size, a, x.data(), out.data()); },
        [&](std::size_t i) { return a * x[i]; });
  check([&](Floats& out) { device().scale_add(size, a, x.data(), y.data(), out.data()); },
        [&](std::size_t i) { return std::fma(a, x[i], y[i]); });
  check([&](Floats& out) { device().combine(size, a, x.data(), b, y.data(), out.data()); },
        [&](std::size_t i) { return std::fma(a, x[i], b * y[i]); });
  check([&](Floats& out) { device().leaky_relu(size, a, x.data(), out.data()); },
        [&](std::size_t i) { return scalar::leaky_relu(a, x[i]); });
  check([&](Floats& out) { device().leaky_relu_backward(size, a, x.data(), y.data(), out.data()); },
        [&](std::size_t i) { return y[i] * scalar::leaky_relu_derivative(a, x[i]); });
  check([&](Floats& out) { device().clamp(size, -1, 1, x.data(), out.data()); },
        [&](std::size_t i) { return x[i] < -1  ? -1
                                    : x[i] > 1 ? 1
                                               : x[i]; });
}

RC_GTEST_PROP(Elementwise, ScaledRowsAreTheScalarDefinition, ()) {
  const auto rows = *rc::gen::inRange<std::size_t>(0, 25);
  const auto cols = *rc::gen::inRange<std::size_t>(0, 40);
  const std::vector<float> x = draw_floats(rows * cols), per_row = draw_floats(rows);
  const auto r = static_cast<std::int64_t>(rows), c = static_cast<std::int64_t>(cols);
  expect_everywhere(
      x.size(),
      [&](Floats& out) { device().scale_rows(r, c, x.data(), per_row.data(), out.data()); },
      [&](std::size_t i) { return x[i] * per_row[i / cols]; });
}

// Rows that are long, or short and many, or one: threads share each of them.
TEST(Elementwise, ManyThreadsOnRowsGiveTheSameBits) {
  std::vector<float> x(100003);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 1e-3f - 50;
  for (const std::int64_t width : {1, 3, 20000}) {
    for (const std::int64_t n : {1, 2, 5}) {
      const std::int64_t times = std::max<std::int64_t>(1, 100000 / n / width);
      std::vector<float> out(static_cast<std::size_t>(n * times * width)), scaled(out.size());
      for (const int count : {1, 2, 7}) {
        use_threads(count);
        device().repeat(n, times, width, x.data(), out.data());
        device().scale_rows(n, times * width, out.data(), x.data(), scaled.data());
        use_threads(1);
        for (std::size_t i = 0; i < out.size(); ++i) {
          const auto at = static_cast<std::int64_t>(i), row = at / (times * width);
          const float value = x[static_cast<std::size_t>(row * width + at % width)];
          ASSERT_EQ(out[i], value) << i;
          ASSERT_EQ(scaled[i], value * x[static_cast<std::size_t>(row)]) << i;
        }
      }
    }
  }
}

RC_GTEST_PROP(Elementwise, CombineRowsTakesItsFactorsFromTheRow, ()) {
  const auto [rows, cols] = draw_matrix();
  const std::vector<float> x = draw_many_floats(rows * cols), y = draw_many_floats(rows * cols);
  const std::vector<float> a = draw_many_floats(rows), b = draw_many_floats(rows);
  expect_everywhere(
      x.size(),
      [&, cols = cols](std::vector<float>& out) {
        device().combine_rows(ssize(a), static_cast<std::int64_t>(cols), a.data(), x.data(),
                              b.data(), y.data(), out.data());
      },
      [&, cols = cols](std::size_t i) { return std::fma(a[i / cols], x[i], b[i / cols] * y[i]); });
  expect_everywhere(  // in place
      x.size(),
      [&, cols = cols](std::vector<float>& out) {
        out = x;
        device().combine_rows(ssize(a), static_cast<std::int64_t>(cols), a.data(), out.data(),
                              b.data(), y.data(), out.data());
      },
      [&, cols = cols](std::size_t i) { return std::fma(a[i / cols], x[i], b[i / cols] * y[i]); });
}

RC_GTEST_PROP(Elementwise, AddOuterIsOneFusedProductOfRowAndColumn, ()) {
  const auto [rows, cols] = draw_matrix();
  const std::vector<float> x = draw_many_floats(rows * cols);
  const std::vector<float> u = draw_many_floats(rows), v = draw_many_floats(cols);
  expect_everywhere(
      x.size(),
      [&](Floats& out) {
        out = x;
        device().add_outer(ssize(u), ssize(v), u.data(), v.data(), out.data(), out.data());
      },
      [&, cols = cols](std::size_t i) { return std::fma(u[i / cols], v[i % cols], x[i]); });
}

// Bits as they are: these two compute nothing, NaNs included.
RC_GTEST_PROP(Elementwise, RepeatAndFillCopyBits, ()) {
  const auto [n, width] = draw_matrix();
  const auto times = *rc::gen::inRange<std::size_t>(0, 5);
  const std::vector<float> x = draw_many_floats(n * width);
  std::vector<float> expected;
  for (std::size_t row = 0; row < n; ++row) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(row * width);
    for (std::size_t time = 0; time < times; ++time) {
      expected.insert(expected.end(), first, first + static_cast<std::ptrdiff_t>(width));
    }
  }
  expect_bits_everywhere(expected, [&, n = n, width = width](std::vector<float>& out) {
    device().repeat(static_cast<std::int64_t>(n), static_cast<std::int64_t>(times),
                    static_cast<std::int64_t>(width), x.data(), out.data());
  });
  const float value = *any_float();
  expect_bits_everywhere(std::vector<float>(n * width, value),
                         [&](Floats& out) { device().fill(ssize(out), value, out.data()); });
}

// The page's row, with host scalars: angles and waves of binary64, rounded once.
RC_GTEST_PROP(TimeEmbedding, IsThePagesRow, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(0, 60);
  const auto half = *rc::gen::inRange<std::size_t>(1, 70);
  std::vector<float> t(n), expected(n * 2 * half);
  for (float& value : t) {  // timesteps, and any number whose angles are in the domain
    value = *rc::gen::arbitrary<bool>()
                ? static_cast<float>(*rc::gen::inRange(0, 4000))
                : std::ldexp(
                      *rc::gen::map(rc::gen::inRange(-999, 999), [](int k) { return 0.731f * k; }),
                      *rc::gen::inRange(-40, 10));
  }
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t i = 0; i < half; ++i) {
      const double exponent = -host::log(10000.0) * static_cast<double>(i);
      const double angle = double{t[s]} * host::exp(exponent / static_cast<double>(half));
      expected[s * 2 * half + i] = static_cast<float>(host::cos(angle));
      expected[s * 2 * half + half + i] = static_cast<float>(host::sin(angle));
    }
  }
  expect_bits_everywhere(expected, [&](Floats& out) {
    device().time_embedding(ssize(t), static_cast<std::int64_t>(2 * half), t.data(), out.data());
  });
}

TEST(TimeEmbedding, RefusesAWidthThatIsNoPairs) {
  const float t[] = {1};
  float out[3];
  EXPECT_THROW(device().time_embedding(1, 3, t, out), Error);
  EXPECT_THROW(device().time_embedding(1, 0, t, out), Error);
}

TEST(Elementwise, ManyThreadsOnALongVectorGiveTheSameBits) {
  std::vector<float> x(100003);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 1e-3f - 50;
  std::vector<float> one(x.size()), out(x.size());
  device().unary(Unary::kSilu, ssize(x), x.data(), one.data());
  for (const int count : {2, 7}) {
    use_threads(count);
    device().unary(Unary::kSilu, ssize(x), x.data(), out.data());
    use_threads(1);
    EXPECT_EQ(first_difference(out, one), -1);
  }
}

TEST(Elementwise, EveryByteSurvivesTheRoundTrip) {
  std::uint8_t bytes[256], back[256];
  float x[256];
  for (int i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  device().from_bytes(256, bytes, x);
  EXPECT_EQ(x[0], -1.0f);
  EXPECT_EQ(x[255], std::fma(255.0f, 2.0f / 255.0f, -1.0f));
  device().to_bytes(256, x, back);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(back[i], i);
  const float extremes[] = {-5, 5, std::numeric_limits<float>::quiet_NaN(), 0};
  device().to_bytes(4, extremes, back);
  EXPECT_EQ(back[0], 0);
  EXPECT_EQ(back[1], 255);
  EXPECT_EQ(back[2], 0);
  EXPECT_EQ(back[3], 128);
}

TEST(Elementwise, CompositionsBehaveAtTheEnds) {
  EXPECT_EQ(scalar::sigmoid(200), 1.0f);
  EXPECT_EQ(scalar::sigmoid(-200), 0.0f);
  EXPECT_EQ(scalar::silu(200), 200.0f);
  EXPECT_EQ(scalar::silu(-200), 0.0f);
  EXPECT_EQ(scalar::softplus(200), 200.0f);
  EXPECT_EQ(scalar::softplus(-20), scalar::exp(-20));
  EXPECT_EQ(scalar::gelu(-20), 0.0f);
  EXPECT_EQ(scalar::gelu_tanh(-20), 0.0f);
  EXPECT_EQ(scalar::gelu_tanh(20), 20.0f);
  EXPECT_EQ(scalar::gelu_tanh_derivative(20), 1.0f);
  EXPECT_EQ(scalar::gelu_tanh_derivative(-20), 0.0f);
  EXPECT_EQ(scalar::silu_derivative(200), 1.0f);
}

}  // namespace
}  // namespace lockstep::numerics
