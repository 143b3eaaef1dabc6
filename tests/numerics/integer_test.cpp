// Integer products against the page once more, written for clarity alone: sums in 64 bits, and
// rounding by the host's binary64.
#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "numerics/device.h"
#include "numerics/matrix_testing.h"

namespace lockstep::numerics {
namespace {
using namespace testing;

struct Group {
  bool finite = true;
  int exponent = 0;
  std::vector<std::int64_t> q;
};

Group reference_group(const float* x, std::int64_t n) {
  Group group{.q = std::vector<std::int64_t>(size(n))};
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) group.finite = false;
    largest = std::fmax(largest, std::fabs(static_cast<double>(x[i])));
  }
  if (!group.finite) return group;
  group.exponent = largest == 0 ? -116 : std::max(std::ilogb(largest), -116);
  for (std::int64_t i = 0; i < n; ++i) {
    const double scaled =
        std::nearbyint(std::ldexp(static_cast<double>(x[i]), 10 - group.exponent));
    group.q[size(i)] = static_cast<std::int64_t>(std::fmin(std::fmax(scaled, -2047), 2047));
  }
  return group;
}

std::vector<Group> reference_groups(const Floats& x, std::int64_t groups) {
  std::vector<Group> result;
  const std::int64_t n = static_cast<std::int64_t>(x.size()) / groups;
  for (std::int64_t g = 0; g < groups; ++g) result.push_back(reference_group(&x[size(g * n)], n));
  return result;
}

float value_of(std::int64_t sum, const Group& u, const Group& v) {
  if (!u.finite || !v.finite) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(std::ldexp(static_cast<double>(sum), u.exponent + v.exponent - 20));
}

struct Case {
  ConvShape s;
  LaneBlocks lanes;
  Floats x, dy, w, bias_in, bias_out;
};

// A few values that are not like the others, in one group of some.
void make_hostile(Floats& x, std::int64_t groups) {
  const std::int64_t n = static_cast<std::int64_t>(x.size()) / groups;
  const auto somewhere = [&] { return size(draw(0, groups - 1) * n + draw(0, n - 1)); };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (draw(0, 9)) {
    case 0:
      x[somewhere()] = *rc::gen::element(kInfinity, -kInfinity, std::nanf("7"));
      break;
    case 1:  // one huge element: the others round to 0
      x[somewhere()] = *rc::gen::element(3e38F, -1e20F);
      break;
    case 2:  // the largest |q|, everywhere
      for (float& v : x) v = v < 0 ? -2047.0F : 2047.0F;
      break;
    case 3:  // all round up to 2048, and are clamped
      for (float& v : x) v = v < 0 ? -2047.9F : 2047.9F;
      break;
    case 4:  // subnormal, results too
      for (float& v : x) v *= 0x1p-130F;
      break;
    case 5:
      for (float& v : x) v *= 0x1p120F;
      break;
    case 6:  // ties
      for (float& v : x) v = std::nearbyint(v * 64) + 0.5F;
      x[somewhere()] = 1024;
      break;
    case 7:
      for (float& v : x) v *= 0.0F;
      break;
    default:
      break;
  }
}

Case random_case() {
  Case c;
  ConvShape& s = c.s;
  s.kh = draw(1, 4);
  s.kw = draw(1, 4);
  s.stride = draw(1, 3);
  s.pad = draw(0, 4);
  s.in = *rc::gen::element<std::int64_t>(1, draw(2, 20), draw(20, 90));
  s.out = *rc::gen::element<std::int64_t>(1, draw(2, 20), draw(20, 90));
  if (draw(0, 2) == 0) s.in = 16 * draw(1, 5);  // as GPUs want them
  if (draw(0, 2) == 0) s.out = 16 * draw(1, 5);
  const std::int64_t most = s.in * s.out > 900 ? 5 : 9;
  s.h = std::max(s.kh - 2 * s.pad, draw(1, most));
  s.w = std::max(s.kw - 2 * s.pad, draw(1, most));
  c.lanes.samples_per_lane = draw(1, 3);
  for (std::int64_t p = draw(1, 2); p > 0; --p) c.lanes.lanes.push_back(draw(1, 2));
  s.n = c.lanes.samples();
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  c.x = random_floats(s.n * s.h * s.w * s.in, seed);
  c.dy = random_floats(s.n * s.out_h() * s.out_w() * s.out, seed + 1);
  c.w = random_floats(s.kh * s.kw * s.in * s.out, seed + 2);
  if (draw(0, 1) == 1) {
    c.bias_in = random_floats(s.in, seed + 3);
    c.bias_out = random_floats(s.out, seed + 4);
  }
  make_hostile(c.x, s.n);
  make_hostile(c.dy, s.n);
  make_hostile(c.w, 1);
  RC_LOG() << "n " << s.n << " h " << s.h << " w " << s.w << " in " << s.in << " out " << s.out
           << " kh " << s.kh << " kw " << s.kw << " stride " << s.stride << " pad " << s.pad
           << "\n";
  return c;
}

// Every product that the layer has: body(n, image position, result position, tap).
template <class Body>
void for_each_product(const ConvShape& s, const Body& body) {
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t o = 0; o < s.out_h() * s.out_w(); ++o) {
      for (std::int64_t tap = 0; tap < s.kh * s.kw; ++tap) {
        const std::int64_t y = o / s.out_w() * s.stride + tap / s.kw - s.pad;
        const std::int64_t x = o % s.out_w() * s.stride + tap % s.kw - s.pad;
        if (y < 0 || y >= s.h || x < 0 || x >= s.w) continue;
        body(n, y * s.w + x, o, tap);
      }
    }
  }
}

struct Expected {
  Floats y, dx, dw;
};

Expected reference(const Case& c) {
  const ConvShape& s = c.s;
  const std::int64_t positions = s.h * s.w, results = s.out_h() * s.out_w();
  const std::int64_t weights = s.kh * s.kw * s.in * s.out;
  const auto x = reference_groups(c.x, s.n), dy = reference_groups(c.dy, s.n);
  const Group w = reference_group(c.w.data(), weights);
  std::vector<std::int64_t> y(c.dy.size()), dx(c.x.size()), dw(size(s.n * weights));
  for_each_product(s, [&](std::int64_t n, std::int64_t i, std::int64_t o, std::int64_t tap) {
    for (std::int64_t ci = 0; ci < s.in; ++ci) {
      for (std::int64_t co = 0; co < s.out; ++co) {
        const std::size_t weight = size((tap * s.in + ci) * s.out + co);
        const std::int64_t of_x = x[size(n)].q[size(i * s.in + ci)];
        const std::int64_t of_dy = dy[size(n)].q[size(o * s.out + co)];
        y[size((n * results + o) * s.out + co)] += of_x * w.q[weight];
        dx[size((n * positions + i) * s.in + ci)] += of_dy * w.q[weight];
        dw[size(n * weights) + weight] += of_x * of_dy;
      }
    }
  });
  Expected all;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float value = value_of(y[i], x[i / size(results * s.out)], w);
    all.y.push_back(c.bias_out.empty() ? value : value + c.bias_out[i % size(s.out)]);
  }
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const float value = value_of(dx[i], dy[i / size(positions * s.in)], w);
    all.dx.push_back(c.bias_in.empty() ? value : value + c.bias_in[i % size(s.in)]);
  }
  std::int64_t lane = 0;
  for (const std::int64_t lanes : c.lanes.lanes) {
    for (std::int64_t i = 0; i < weights; ++i) {
      const auto of_lane = [&](std::int64_t l) {
        float sum = 0;
        for (std::int64_t k = 0; k < c.lanes.samples_per_lane; ++k) {
          const std::int64_t n = l * c.lanes.samples_per_lane + k;
          const float value = value_of(dw[size(n * weights + i)], x[size(n)], dy[size(n)]);
          sum = k == 0 ? value : sum + value;
        }
        return sum;
      };
      all.dw.push_back(lanes == 1 ? of_lane(lane) : of_lane(lane) + of_lane(lane + 1));
    }
    lane += lanes;
  }
  return all;
}

struct Integers {
  Integers(const Floats& x, std::int64_t groups, std::int64_t c)
      : q(x.size()), exponents(size(groups), 777) {
    const auto rows = static_cast<std::int64_t>(x.size()) / c;
    device().round_groups(groups, rows / groups, c, x.data(), q.data(), exponents.data());
  }
  operator Rounded() const { return {q.data(), exponents.data()}; }

  // Aligned as tensors are.
  struct Aligned {
    explicit Aligned(std::size_t count) : memory(count + kMost, 77) {}
    std::int16_t* data() { return memory.data() + skipped(); }
    const std::int16_t* data() const { return memory.data() + skipped(); }

   private:
    static constexpr std::size_t kMost = 32;  // 64 bytes
    std::size_t skipped() const {
      return (kMost - reinterpret_cast<std::uintptr_t>(memory.data()) / 2 % kMost) % kMost;
    }
    std::vector<std::int16_t> memory;
  };
  Aligned q;
  std::vector<std::int32_t> exponents;
};

// The NaN of results is one; a later sum may give another.
Floats one_nan(Floats x) {
  for (float& v : x) {
    if (std::isnan(v)) v = std::bit_cast<float>(0x7fc00000U);
  }
  return x;
}

TEST(IntegerProducts, EveryImplementationComputesThePage) {
  EXPECT_TRUE(rc::check([] {
    const Case c = random_case();
    Expected expected = reference(c);
    const float* bias_out = c.bias_out.empty() ? nullptr : c.bias_out.data();
    const float* bias_in = c.bias_in.empty() ? nullptr : c.bias_in.data();
    EveryWay every;
    const auto same = [&](const Floats& wanted, const std::function<void(float*)>& kernel) {
      const auto shown = [&](float* out) {
        kernel(out);
        const Floats plain = one_nan({out, out + wanted.size()});
        std::ranges::copy(plain, out);
      };
      RC_ASSERT(every.differs(one_nan(wanted), shown) == "");
    };
    same(expected.y, [&](float* y) {
      device().integer_conv2d(c.s, Integers(c.x, c.s.n, c.s.in), Integers(c.w, 1, c.s.out),
                              bias_out, y);
    });
    same(expected.dx, [&](float* dx) {
      device().integer_conv2d_input_grad(c.s, Integers(c.dy, c.s.n, c.s.out),
                                         Integers(c.w, 1, c.s.out), bias_in, dx);
    });
    same(expected.dw, [&](float* dw) {
      device().integer_conv2d_weight_grad(c.s, c.lanes, Integers(c.x, c.s.n, c.s.in),
                                          Integers(c.dy, c.s.n, c.s.out), dw);
    });
  }));
}

// Shapes that fill a GPU: its largest tiles, several to a side, and lanes of several samples.
TEST(IntegerProducts, OfLargeShapesAreTheCpus) {
  for (const ConvShape& s : {
           ConvShape{.n = 8, .h = 29, .w = 31, .in = 80, .out = 96, .kh = 3, .kw = 3, .pad = 1},
           ConvShape{.n = 8, .h = 28, .w = 28, .in = 48, .out = 64, .kh = 2, .kw = 2, .stride = 2},
           ConvShape{.n = 6, .h = 1100, .w = 1, .in = 112, .out = 208},  // a linear layer
       }) {
    const std::int64_t weights = s.kh * s.kw * s.in * s.out;
    const Floats x = random_floats(s.n * s.h * s.w * s.in, 1), w = random_floats(weights, 2);
    const Floats dy = random_floats(s.n * s.out_h() * s.out_w() * s.out, 3);
    const Floats bias = random_floats(208, 4);
    const LaneBlocks lanes{.samples_per_lane = 2, .lanes = std::vector<std::int64_t>(s.n / 2, 1)};
    const auto all = [&] {
      Floats y(dy.size()), dx(x.size()), dw(size(lanes.partials() * weights));
      device().integer_conv2d(s, Integers(x, s.n, s.in), Integers(w, 1, s.out), bias.data(),
                              y.data());
      device().integer_conv2d_input_grad(s, Integers(dy, s.n, s.out), Integers(w, 1, s.out),
                                         bias.data(), dx.data());
      device().integer_conv2d_weight_grad(s, lanes, Integers(x, s.n, s.in),
                                          Integers(dy, s.n, s.out), dw.data());
      return std::array{y, dx, dw};
    };
    const std::array expected = all();
    const OnGpu gpu;
    const std::array found = all();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(found[i], expected[i])) << i;
  }
}

// As a layer of two sides has them: one rounding, a product with the rows of each side.
TEST(IntegerProducts, OfSomeOfTheWeightsRows) {
  struct Sides {
    std::int64_t left, right, out;
  };
  for (const Sides& sides :
       {Sides{20, 10, 20}, {10, 20, 20}, {9, 9, 8}, {8, 24, 16}, {24, 40, 32}, {16, 48, 80}}) {
    const std::int64_t in = sides.left + sides.right, out = sides.out;
    const Floats w = random_floats(in * out, 1), dy = random_floats(3 * 12 * out, 2);
    const auto gradients = [&] {
      const Integers whole(w, 1, out), of_dy(dy, 3, out);
      Floats all;
      for (const auto& [first, count] :
           {std::pair<std::int64_t, std::int64_t>{0, sides.left}, {sides.left, sides.right}}) {
        const ConvShape s{.n = 3, .h = 12, .w = 1, .in = count, .out = out};
        Floats dx(size(3 * 12 * count));
        const Rounded rows{whole.q.data() + first * out, whole.exponents.data()};
        device().integer_conv2d_input_grad(s, of_dy, rows, nullptr, dx.data());
        all.insert(all.end(), dx.begin(), dx.end());
      }
      return all;
    };
    const Floats expected = gradients();
    const OnGpu gpu;
    EXPECT_TRUE(same_bits(gradients(), expected)) << sides.left << " and " << sides.right;
  }
}

TEST(IntegerProducts, RoundingIsThePages) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t groups = draw(1, 4), n = draw(1, 200);
    Floats x = random_floats(groups * n, *rc::gen::arbitrary<std::uint32_t>());
    make_hostile(x, groups);
    const std::vector<Group> expected = reference_groups(x, groups);
    EveryWay restore;
    for (const Isa isa : usable_isas()) {
      use_isa(isa);
      const Integers integers(x, groups, n);
      std::vector<std::int16_t> plain(x.size());
      device().plain_integers(groups, n, integers.q.data(), plain.data());
      for (std::int64_t g = 0; g < groups; ++g) {
        const Group& group = expected[size(g)];
        RC_ASSERT(integers.exponents[size(g)] == (group.finite ? group.exponent : 128));
        for (std::int64_t i = 0; i < n; ++i)
          RC_ASSERT(plain[size(g * n + i)] == (group.finite ? group.q[size(i)] : 0));
      }
    }
  }));
}

// 512 products of the largest integers fit 32 bits, 513 pairs do not: longer sums are cut.
TEST(IntegerProducts, LongSumsOfTheLargestIntegersAreExact) {
  for (const std::int64_t depth : {512, 514, 1024, 1026, 4096}) {
    const ConvShape s{.n = 1, .h = 1, .w = 3, .in = depth, .out = 33};
    const Floats x(size(3 * depth), 2047.0F), w(size(depth * 33), -2047.0F);
    const Floats wanted(99, -2047.0F * 2047.0F * static_cast<float>(depth));
    EveryWay every;
    EXPECT_EQ(every.differs(wanted,
                            [&](float* y) {
                              device().integer_conv2d(s, Integers(x, 1, s.in),
                                                      Integers(w, 1, s.out), nullptr, y);
                            }),
              "")
        << depth;
  }
}

}  // namespace
}  // namespace lockstep::numerics
