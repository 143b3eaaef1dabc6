// Speed of matrix products and convolutions on one thread, for each instruction set of this CPU:
//   kernels_bench [--benchmark_filter=REGEX] [Google Benchmark's other options]
// A name holds the shape, the arithmetic and the instruction set:
//   conv n64 side28 in32 out32 k3 stride1 pad1 forward float avx512
// scalar kernels are slow: they are there only where an argument has the word "scalar".
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/numerics/isa.h"
#include "support/cpu.h"

namespace {
using namespace lockstep::numerics;

std::vector<float> values(std::int64_t n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::uint32_t state = 1;
  for (float& x : v) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
  }
  return v;
}

struct Measurement {
  std::string name;
  double flops;
  std::function<std::function<void()>()> prepare;  // allocates, and gives what is measured
};

struct Gemm {
  std::int64_t batch, m, n, k;
  bool transpose_b = false;

  std::string name() const {
    return "gemm batch" + std::to_string(batch) + " m" + std::to_string(m) + " n" +
           std::to_string(n) + " k" + std::to_string(k) + (transpose_b ? " transposed" : " plain");
  }
  double flops() const { return 2.0 * static_cast<double>(batch * m * n * k); }
};

// What the recipes' layers and attention are made of.
const std::vector<Gemm>& gemms() {
  static const std::vector<Gemm> list{
      {1, 256, 256, 256}, {1, 512, 512, 512},      {1, 1024, 1024, 1024}, {1, 64, 512, 512},
      {1, 12544, 64, 32}, {256, 49, 49, 16, true}, {256, 49, 16, 49}};
  return list;
}

const std::vector<ConvShape>& convolutions() {
  static const std::vector<ConvShape> list = [] {
    const std::int64_t cases[][7] = {
        // n, side, in, out, kernel, stride, pad
        {64, 28, 32, 32, 3, 1, 1},  {64, 28, 64, 32, 3, 1, 1}, {64, 14, 64, 64, 3, 1, 1},
        {64, 14, 128, 64, 3, 1, 1}, {64, 7, 64, 64, 3, 1, 1},  {64, 7, 128, 128, 3, 1, 1},
        {16, 28, 32, 32, 3, 1, 1},  {16, 7, 64, 64, 3, 1, 1},  {64, 28, 1, 32, 3, 1, 1},
        {64, 28, 32, 1, 3, 1, 1},   {64, 28, 3, 32, 3, 1, 1},  {64, 14, 64, 128, 1, 1, 0},
        {64, 28, 32, 64, 3, 2, 1},  {64, 14, 64, 64, 3, 2, 1}, {64, 16, 64, 128, 4, 2, 1},
        {64, 28, 1, 64, 4, 2, 1}};
    std::vector<ConvShape> shapes;
    for (const auto& c : cases)
      shapes.push_back({.n = c[0],
                        .h = c[1],
                        .w = c[1],
                        .in = c[2],
                        .out = c[3],
                        .kh = c[4],
                        .kw = c[4],
                        .stride = c[5],
                        .pad = c[6]});
    return shapes;
  }();
  return list;
}

std::string name_of(const ConvShape& s) {
  return "conv n" + std::to_string(s.n) + " side" + std::to_string(s.h) + " in" +
         std::to_string(s.in) + " out" + std::to_string(s.out) + " k" + std::to_string(s.kh) +
         " stride" + std::to_string(s.stride) + " pad" + std::to_string(s.pad);
}

double flops_of(const ConvShape& s) {
  return 2.0 * static_cast<double>(s.n * s.out_h() * s.out_w() * s.out * s.kh * s.kw * s.in);
}

constexpr int kLanes = 8;
LaneBlocks lanes_of(const ConvShape& s) {
  return {.samples_per_lane = s.n / kLanes, .lanes = {kLanes}};
}

struct ConvData {
  std::vector<float> x, w, y;

  explicit ConvData(const ConvShape& s)
      : x(values(s.n * s.h * s.w * s.in)),
        w(values(s.kh * s.kw * s.in * s.out)),
        y(values(s.n * s.out_h() * s.out_w() * s.out)) {}
};

void add_float(std::vector<Measurement>& list) {
  for (const Gemm& g : gemms()) {
    list.push_back(
        {g.name() + " float", g.flops(), [g] {
           struct Data {
             std::vector<float> a, b, c;
           };
           auto d =
               std::make_shared<Data>(Data{values(g.batch * g.m * g.k), values(g.batch * g.k * g.n),
                                           values(g.batch * g.m * g.n)});
           return [g, d] {
             const std::int64_t size = g.k * g.n;
             const float* b = d->b.data();
             cpu().gemm(g.batch, g.m, g.n, g.k, {d->a.data(), g.k, 1, g.m * g.k},
                        g.transpose_b ? Operand{b, 1, g.k, size} : Operand{b, g.n, 1, size},
                        nullptr, {d->c.data(), g.n, g.m * g.n});
           };
         }});
  }
  for (const ConvShape& s : convolutions()) {
    const auto add = [&](const char* what, auto run) {
      list.push_back({name_of(s) + what + " float", flops_of(s), [s, run] {
                        auto d = std::make_shared<ConvData>(s);
                        return [s, run, d] { run(s, *d); };
                      }});
    };
    add(" forward", [](const ConvShape& c, ConvData& d) {
      cpu().conv2d(c, d.x.data(), d.w.data(), nullptr, d.y.data());
    });
    add(" input_grad", [](const ConvShape& c, ConvData& d) {
      cpu().conv2d_input_grad(c, d.y.data(), d.w.data(), nullptr, d.x.data());
    });
    add(" weight_grad", [](const ConvShape& c, ConvData& d) {
      cpu().conv2d_weight_grad(c, lanes_of(c), d.x.data(), d.y.data(), d.w.data());
    });
  }
}

// An operand of integer products, rounded anew each time.
struct Integers {
  Integers(std::int64_t groups_in, const std::vector<float>& x)
      : groups(groups_in), q(x.size()), exponents(static_cast<std::size_t>(groups_in)) {}
  Rounded of(const std::vector<float>& x) {
    cpu().round_groups(groups, 1, static_cast<std::int64_t>(x.size()) / groups, x.data(), q.data(),
                       exponents.data());
    return {q.data(), exponents.data()};
  }

  std::int64_t groups;
  std::vector<std::int16_t> q;
  std::vector<std::int32_t> exponents;
};

struct IntegerData : ConvData {
  Integers of_x, of_w, of_y;

  explicit IntegerData(const ConvShape& s) : ConvData(s), of_x(s.n, x), of_w(1, w), of_y(s.n, y) {}
};

// The same convolutions where they are wide enough, with the rounding of both operands.
void add_integer(std::vector<Measurement>& list) {
  for (const ConvShape& s : convolutions()) {
    if (!integer_products(s)) continue;
    const auto add = [&](const char* what, auto run) {
      list.push_back({name_of(s) + what + " integer", flops_of(s), [s, run] {
                        auto d = std::make_shared<IntegerData>(s);
                        return [s, run, d] { run(s, *d); };
                      }});
    };
    add(" forward", [](const ConvShape& c, IntegerData& d) {
      cpu().integer_conv2d(c, d.of_x.of(d.x), d.of_w.of(d.w), nullptr, d.y.data());
    });
    add(" input_grad", [](const ConvShape& c, IntegerData& d) {
      cpu().integer_conv2d_input_grad(c, d.of_y.of(d.y), d.of_w.of(d.w), nullptr, d.x.data());
    });
    add(" weight_grad", [](const ConvShape& c, IntegerData& d) {
      cpu().integer_conv2d_weight_grad(c, lanes_of(c), d.of_x.of(d.x), d.of_y.of(d.y), d.w.data());
    });
  }
}

void measure(benchmark::State& state, const Measurement& m, Isa isa) {
  use_isa(isa);
  const std::function<void()> run = m.prepare();
  run();
  for ([[maybe_unused]] auto _ : state) run();
  state.counters["flops"] =
      benchmark::Counter(m.flops, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
  bool scalar = false;
  for (int i = 1; i < argc; ++i)
    scalar = scalar || std::string(argv[i]).find("scalar") != std::string::npos;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  std::vector<Measurement> list;
  add_float(list);
  add_integer(list);
  for (const Measurement& m : list)
    for (const Isa isa : usable_isas())
      if (isa != Isa::kScalar || scalar)
        benchmark::RegisterBenchmark((m.name + " " + std::string(name(isa))).c_str(), measure, m,
                                     isa);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
