// Integer products and rounding in the emulated grid against the CPU: every kind of tile, and what
// tiles are made of. Rounded operands are drawn as they are, so that every integer occurs.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>

#include "lockstep/numerics/cpu.h"
#include "numerics/cuda/integer_tile-inl.h"
#include "numerics/matrix_testing.h"
#include "support/gpu/gpu.h"
#include "support/gpu/reachable.h"

namespace lockstep::numerics {
namespace {
using namespace testing;

// Values behind which a page lies that nobody may touch.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::int64_t count) : count_(size(count)) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t whole = (count_ * sizeof(T) + page - 1) / page * page;
    mapped_ = whole + page;
    base_ = static_cast<char*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || mprotect(base_ + whole, page, PROT_NONE) != 0) std::abort();
    data_ = reinterpret_cast<T*>(base_ + whole) - count_;
    reachable_.emplace(base_, whole);
  }
  ~Guarded() {
    reachable_.reset();
    munmap(base_, mapped_);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() const { return data_; }
  T* begin() const { return data_; }
  T* end() const { return data_ + count_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  std::size_t count_, mapped_;
  char* base_;
  T* data_;
  std::optional<test::gpu::Reachable> reachable_;
};

struct Group {
  Group(std::int64_t groups, std::int64_t rows, std::int64_t c_in, std::uint32_t seed)
      : c(c_in), q(groups * rows * c), kept(groups * rows * c), exponents(groups) {
    std::mt19937 random(seed);
    constexpr std::int16_t kEnds[] = {-2047, 2047, -2016, 2015, -33, -1, 0, 32};
    for (std::int16_t& v : q) {
      v = random() % 4 == 0 ? kEnds[random() % 8]
                            : static_cast<std::int16_t>(static_cast<int>(random() % 4095) - 2047);
    }
    for (std::int32_t& e : exponents) {
      e = static_cast<std::int32_t>(random() % 20) - 10;
      if (random() % 8 == 0) e = spec::kNotFinite;
    }
  }
  // As the CPU keeps them; as a GPU does.
  operator Rounded() const { return {q.data(), exponents.data()}; }
  Rounded of_gpu() const {
    const bool apart = c % 16 == 0;
    auto* const bytes = reinterpret_cast<std::uint8_t*>(kept.data());
    for (std::size_t i = 0; i < size(q.end() - q.begin()); ++i) {
      const std::uint16_t pair = cuda::pair_of(q[i]);
      const std::size_t low = apart ? i / 16 * 32 + i % 16 : i * 2;
      bytes[low] = static_cast<std::uint8_t>(pair);
      bytes[low + (apart ? 16 : 1)] = static_cast<std::uint8_t>(pair >> 8);
    }
    return {kept.data(), exponents.data()};
  }
  std::int64_t c;
  Guarded<std::int16_t> q, kept;
  Guarded<std::int32_t> exponents;
};

std::string words(const ConvShape& s) {
  std::string text;
  for (const std::int64_t v : {s.n, s.h, s.w, s.in, s.out, s.kh, s.kw, s.stride, s.pad})
    text += std::to_string(v) + " ";
  return text;
}

// All three products on both devices. What floats they read and write ends `shift` before a page
// does, which says how it is aligned.
void expect_same(const ConvShape& s, std::uint32_t seed, std::int64_t shift = 0) {
  const std::int64_t results = s.out_h() * s.out_w(), taps = s.kh * s.kw * s.in;
  const Group x(s.n, s.h * s.w, s.in, seed), dy(s.n, results, s.out, seed + 1);
  const Group w(1, taps, s.out, seed + 2);
  const Guarded<float> bias(std::max(s.in, s.out) + shift), rows(s.n * s.out + shift);
  const Guarded<float> values(s.n * results * s.out + shift);
  for (const Guarded<float>* const one : {&bias, &rows, &values})
    std::ranges::copy(random_floats(one->end() - one->begin(), seed), one->begin());
  LaneBlocks lanes;
  lanes.samples_per_lane = s.n % 3 == 0 ? 3 : 1;
  for (std::int64_t left = s.n / lanes.samples_per_lane; left > 0; left -= 2)
    lanes.lanes.push_back(left < 2 ? 1 : 2);
  const auto gpu = test::gpu::make_gpu(seed);
  // Samples of a lane in turn, or side by side: on a GPU of one multiprocessor, of many.
  const cuda::IntegerShape of_lanes{lanes.lane_count(), taps, s.out, results, 1};
  const auto in_turn = test::gpu::make_gpu(seed, 1),
             side_by_side = test::gpu::make_gpu(seed, 1 << 20);
  const bool wide = s.in % 16 == 0 && s.out % 16 == 0;
  EXPECT_TRUE(cuda::in_turn_pays(of_lanes, wide, 1)) << words(s);
  if (s.n > 0) {
    EXPECT_FALSE(cuda::in_turn_pays(of_lanes, wide, 1 << 20)) << words(s);
  }

  const auto same_on = [&](Device& device, const char* what, std::int64_t count,
                           const auto& product) {
    const Guarded<float> wanted(count + shift), found(count + shift);
    std::ranges::fill(wanted, -777.0F);
    std::ranges::fill(found, -777.0F);
    const auto of_cpu = [](const Group& group) { return Rounded(group); };
    const auto of_gpu = [](const Group& group) { return group.of_gpu(); };
    product(static_cast<Device&>(cpu()), of_cpu, wanted.data());
    product(device, of_gpu, found.data());
    EXPECT_TRUE(same_bits({wanted.begin(), wanted.end()}, {found.begin(), found.end()}))
        << what << " of " << words(s);
  };
  const auto same = [&](const char* what, std::int64_t count, const auto& product) {
    same_on(*gpu, what, count, product);
  };
  same("product", s.n * results * s.out, [&](Device& device, const auto& of, float* y) {
    device.integer_conv2d(s, of(x), of(w), Added(bias.data(), rows.data(), values.data()), y);
  });
  same("input gradient", s.n * s.h * s.w * s.in, [&](Device& device, const auto& of, float* dx) {
    device.integer_conv2d_input_grad(s, of(dy), of(w), bias.data(), dx);
  });
  for (Device* const device : {in_turn.get(), side_by_side.get()}) {
    same_on(*device, "weight gradient", lanes.partials() * taps * s.out,
            [&](Device& on, const auto& of, float* dw) {
              on.integer_conv2d_weight_grad(s, lanes, of(x), of(dy), dw);
            });
  }
}

TEST(IntegerTiles, AnyNumberOfChannels) {
  for (std::int64_t c = 1; c <= 17; ++c) {
    expect_same(
        {.n = 2, .h = 5, .w = 4, .in = c, .out = 18 - c, .kh = 3, .kw = 3, .stride = 1, .pad = 1},
        static_cast<std::uint32_t>(c));
  }
}

// Channels in groups of sixteen, also of one operand alone; depths of less than a step, one and
// several.
TEST(IntegerTiles, SmallTiles) {
  std::uint32_t seed = 100;
  for (const std::int64_t in : {16, 48, 64}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t pad : {0, 1, 2}) {
        expect_same({.n = 3,
                     .h = 5,
                     .w = 7,
                     .in = in,
                     .out = 80 - in,
                     .kh = 3,
                     .kw = 2,
                     .stride = stride,
                     .pad = pad},
                    ++seed, pad);
      }
    }
  }
  expect_same({.n = 1, .h = 1, .w = 1, .in = 16, .out = 16}, ++seed);
  expect_same({.n = 0, .h = 3, .w = 3, .in = 16, .out = 16}, ++seed);
  expect_same({.n = 6, .h = 37, .w = 1, .in = 112, .out = 16}, ++seed);  // a linear layer
  expect_same({.n = 6, .h = 37, .w = 1, .in = 112, .out = 7}, ++seed);
  expect_same({.n = 6, .h = 37, .w = 1, .in = 9, .out = 16}, ++seed);
  expect_same({.n = 2, .h = 4, .w = 6, .in = 16, .out = 8, .kh = 1, .kw = 1, .stride = 2}, ++seed);
  expect_same({.n = 2, .h = 67, .w = 3, .in = 16, .out = 16, .kh = 2, .kw = 3}, ++seed, 3);
}

template <class Tile>
bool takes(const cuda::IntegerShape& s) {
  constexpr bool kInTurn = std::is_same_v<Tile, cuda::TurnsTile>;
  return cuda::with_tile_for<kInTurn>(
      s, true, [](auto tile) { return std::is_same_v<decltype(tile), Tile>; });
}

template <class Tile>
void expect_same_of_pixels(std::initializer_list<ConvShape> shapes, std::uint32_t seed) {
  for (const ConvShape& s : shapes) {
    const std::int64_t positions = s.n * s.out_h() * s.out_w();
    EXPECT_TRUE(takes<Tile>({1, positions, s.out, s.kh * s.kw * s.in})) << words(s);
    expect_same(s, ++seed);
  }
}

TEST(IntegerTiles, NarrowTilesOfPixels) {
  expect_same_of_pixels<cuda::NarrowTile>(
      {{.n = 8, .h = 32, .w = 32, .in = 16, .out = 16},
       {.n = 5, .h = 29, .w = 29, .in = 16, .out = 144, .kh = 3, .kw = 3, .pad = 1},
       {.n = 7, .h = 61, .w = 91, .in = 16, .out = 16, .kh = 2, .kw = 2, .stride = 2}},
      200);
}

// The second's input gradient, too.
TEST(IntegerTiles, LargeTilesOfPixels) {
  const ConvShape both{.n = 7, .h = 31, .w = 32, .in = 80, .out = 96, .kh = 2, .kw = 3, .pad = 1};
  EXPECT_TRUE(takes<cuda::LargeTile>({1, 7 * 31 * 32, both.in, 2 * 3 * both.out}));
  expect_same_of_pixels<cuda::LargeTile>(
      {{.n = 5, .h = 29, .w = 29, .in = 16, .out = 208, .kh = 3, .kw = 3, .pad = 1}, both}, 250);
}

TEST(IntegerTiles, LargeTilesOfWeights) {
  std::uint32_t seed = 300;
  for (const ConvShape& s : {
           ConvShape{.n = 12, .h = 5, .w = 3, .in = 48, .out = 80, .kh = 3, .kw = 3, .pad = 1},
           ConvShape{.n = 64, .h = 13, .w = 7, .in = 80, .out = 16},
       }) {
    EXPECT_TRUE(takes<cuda::TurnsTile>({s.n, s.kh * s.kw * s.in, s.out, s.out_h() * s.out_w()}))
        << words(s);
    expect_same(s, ++seed);
  }
}

// 22 lanes of three samples: so many that any GPU takes large tiles, in turn.
TEST(IntegerTiles, LargeTilesOfWeightsInTurn) {
  const ConvShape s{.n = 66, .h = 9, .w = 9, .in = 48, .out = 80, .kh = 3, .kw = 3, .pad = 1};
  EXPECT_TRUE(takes<cuda::TurnsTile>({s.n / 3, s.kh * s.kw * s.in, s.out, s.out_h() * s.out_w()}));
  expect_same(s, 350);
}

// Sums of slices are good for 2^17 products in 32 bits; the integers of the largest ones overflow
// them soon after.
TEST(IntegerTiles, SumsBeyond32Bits) {
  for (const std::int64_t in : {std::int64_t{1} << 17, (std::int64_t{1} << 18) + 16}) {
    const ConvShape s{.n = 1, .h = 1, .w = 2, .in = in, .out = 16};
    Group x(1, 2, in, 0), w(1, in, 16, 0);
    x.exponents[0] = w.exponents[0] = 10;
    std::fill(x.q.begin(), x.q.begin() + in, std::int16_t{-2016});
    std::fill(x.q.begin() + in, x.q.end(), std::int16_t{2015});
    std::fill(w.q.begin(), w.q.end(), std::int16_t{-2016});
    Floats found(32);
    test::gpu::make_gpu(9)->integer_conv2d(s, x.of_gpu(), w.of_gpu(), nullptr, found.data());
    for (std::size_t i = 0; i < 32; ++i) {
      const std::int64_t wanted = (i < 16 ? 2016 : -2015) * std::int64_t{2016} * in;
      EXPECT_EQ(found[i], static_cast<float>(wanted)) << in << " " << i;
    }
  }
}

// Groups of one block (up to 32768 values) and of several, in one piece and in two, wide or not.
TEST(IntegerTiles, RoundingReadsEveryValue) {
  struct Layout {
    std::int64_t groups, rows, c, cut, shift;
  };
  std::uint32_t seed = 0;
  for (const Layout& l :
       {Layout{3, 1, 1, 0, 0}, Layout{2, 5, 7, 0, 0}, Layout{5, 40, 16, 0, 0},
        Layout{2, 600, 20, 0, 0}, Layout{2, 600, 20, 0, 1}, Layout{2, 700, 20, 8, 0},
        Layout{2, 450, 20, 7, 0}, Layout{2, 450, 32, 7, 0}, Layout{2, 90, 48, 16, 0},
        Layout{2, 2048, 16, 0, 0}, Layout{2, 2049, 16, 0, 0}, Layout{2, 1639, 20, 0, 1},
        Layout{2, 1700, 20, 8, 0}, Layout{2, 1700, 20, 7, 0}, Layout{2, 800, 48, 16, 0},
        Layout{1, 300, 3700, 0, 0}, Layout{3, 0, 8, 0, 0}, Layout{0, 4, 8, 4, 0}}) {
    for (int hostile = 0; hostile < 4; ++hostile) {
      const std::int64_t n = l.groups * l.rows * l.c;
      const Guarded<float> x(n + l.shift);
      std::ranges::copy(random_floats(n + l.shift, ++seed), x.begin());
      // The largest value, or one that is not finite, is anywhere, also at the end.
      const float kinds[] = {0x1p40F, -std::numeric_limits<float>::infinity(), std::nanf("3"), 1};
      if (n > 0) x[size(hostile == 0 ? n - 1 : seed * 7919 % n)] = kinds[hostile];
      const float* const first = x.data();  // ends where a page does, or `shift` before
      const Sides<const float> sides =
          l.cut == 0 ? Sides<const float>(first)
                     : Sides<const float>(first, l.cut, first + l.groups * l.rows * l.cut);
      std::vector<std::int16_t> plain[2];
      std::vector<std::int32_t> exponents[2];
      const auto gpu = test::gpu::make_gpu(seed);
      for (int i = 0; i < 2; ++i) {
        const Guarded<std::int16_t> q(n);
        std::ranges::fill(q, std::int16_t{77});
        plain[i].assign(size(n), 777);
        exponents[i].assign(size(l.groups), 777);
        Device& device = i == 0 ? static_cast<Device&>(cpu()) : *gpu;
        device.round_groups(l.groups, l.rows, l.c, sides, q.data(), exponents[i].data());
        device.plain_integers(l.groups * l.rows, l.c, q.data(), plain[i].data());
      }
      EXPECT_EQ(exponents[0], exponents[1]) << l.rows << " rows of " << l.c;
      EXPECT_EQ(plain[0], plain[1]) << l.rows << " rows of " << l.c;
    }
  }
}

}  // namespace
}  // namespace lockstep::numerics
